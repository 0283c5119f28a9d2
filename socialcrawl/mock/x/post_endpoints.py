"""The endpoints that look posts up by their ids, from checked parameters to answers; no network here."""

from socialcrawl.mock.names import DELETED, HERE
from socialcrawl.mock.x.bodies import XAnswer, make_look_up_answer
from socialcrawl.mock.x.parameters import POST_PARAMETERS
from socialcrawl.mock.x.problems import make_missing_post
from socialcrawl.mock.x.render import XRenderer
from socialcrawl.mock.x.user_endpoints import XCall, check_path

POST_ID = "[0-9]{1,19}"


class XPostEndpoints:
    """The endpoints that look posts up."""

    def __init__(self, renderer: XRenderer) -> None:
        self._renderer, self._world, self._changes = renderer, renderer.world, renderer.changes

    def by_ids(self, call: XCall) -> XAnswer:
        """GET /2/tweets."""
        call.parameters.allow(POST_PARAMETERS | {"ids"})
        return self._look_up(call, "ids", call.parameters.values("ids", POST_ID))

    def by_id(self, call: XCall) -> XAnswer:
        """GET /2/tweets/:id."""
        call.parameters.allow(POST_PARAMETERS)
        check_path(call, "id", POST_ID)
        return self._look_up(call, "id", [call.path])

    def _look_up(self, call: XCall, parameter: str, values: list[str]) -> XAnswer:
        found: dict[int, None] = {}
        problems = []
        for value in values:
            post = self._changes.place(self._world.find_post(int(value)))
            fate = DELETED if post < 0 else self._changes.find_fate(int(self._world.author[post]))
            if post >= 0 and fate == HERE:
                found[post] = None
            else:
                problems.append(make_missing_post(call.ask.words, parameter, value, fate))
        return make_look_up_answer(self._renderer, list(found), problems, call.ask, single=parameter == "id")
