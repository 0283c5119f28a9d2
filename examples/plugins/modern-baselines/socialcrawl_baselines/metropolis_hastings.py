"""A Metropolis-Hastings walk, whose draws are uniform over the accounts that it can reach.

In the manner of MHRW, of Gjoka, Kurant, Butts, Markopoulou: Walking in Facebook (2010).
"""


class MetropolisHastings:
    """Go to the neighbour that was drawn with the chance min(1, own degree / its degree); else stay.

    A stay counts as a draw of the same account, so that all draws have the same weight.
    """

    paper = "Gjoka, Kurant, Butts and Markopoulou: Walking in Facebook, INFOCOM 2010 (MHRW)"

    def accept(self, degree: int, proposed: int) -> float:
        """Return the chance of going to an account with `proposed` neighbours from one with `degree`."""
        return min(1.0, degree / proposed)

    def weigh(self, degree: int) -> float:
        """Return 1: accounts of all degrees are drawn equally often."""
        del degree
        return 1.0
