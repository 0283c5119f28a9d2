"""Several workers for one campaign: requests are sent by processes of a Dask cluster, decided and stored by one.

worker_wires     what a worker holds: the clients of the platforms, and the answers that are to be fetched
worker_clock     how far a worker's clock is from that of the deciding process
remote_workers   a worker as the deciding process sees it: what it was given, and whether it answers
shared_fleets    the workers of a scheduler, for all campaigns of a process
fleet_executor   what the loop sends by: an executor, and a planner that waits while there is no worker
dask_client      the only module that imports Dask

Windows, ledger and budgets stay in the deciding process, so workers multiply no limit. Tokens never travel: a worker
reads them from its own environment by the names of the variables.
"""
