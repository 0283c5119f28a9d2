"""The invented vocabularies of the synthetic world: sixteen topics and the small talk around them.

The topics stand in order of popularity and in pairs of kin (0-1, 2-3, ...): people of one talk now and then about
the other. No word of the file but the keyword itself contains the keyword, so that counting it as a plain
substring counts only what was meant.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TopicWords:
    """A subject people gather around: its name, its keyword and about 30 other lower-case nouns."""

    name: str
    keyword: str
    words: tuple[str, ...]


def _make_topic(name: str, keyword: str, words: str) -> TopicWords:
    return TopicWords(name, keyword, tuple(words.split()))


TOPICS: tuple[TopicWords, ...] = (
    _make_topic(
        "astronomy",
        "telescope",
        "nebula galaxy comet eclipse meteor orbit planet moon astrolabe planisphere constellation supernova asteroid "
        "crater eyepiece observatory starlight equinox pulsar quasar aurora perihelion redshift spectrum refractor "
        "declination ephemeris sunspot satellite zenith",
    ),
    _make_topic(
        "photography",
        "aperture",
        "shutter lens tripod exposure darkroom negative portrait landscape bokeh flash filter viewfinder contrast "
        "focus grain histogram softbox backdrop macro panorama print album studio highlight shadow silhouette "
        "framing rangefinder enlarger vignette",
    ),
    _make_topic(
        "gardening",
        "compost",
        "seedling tomato trellis mulch trowel greenhouse perennial rosebush weed pruning soil hedge lawn bulb tulip "
        "fern orchard watering harvest lavender marigold dahlia allotment rake wheelbarrow slug fertiliser cutting "
        "rhubarb pergola",
    ),
    _make_topic(
        "baking",
        "sourdough",
        "flour yeast oven crust crumb starter brioche croissant muffin pastry baguette batter glaze frosting sponge "
        "scone cinnamon proofing whisk rye focaccia éclair meringue tart caramel vanilla biscuit loaf ganache "
        "marzipan",
    ),
    _make_topic(
        "cycling",
        "derailleur",
        "pedal saddle peloton sprint climb gear chain crankset helmet spoke tyre puncture handlebar cadence tandem "
        "velodrome breakaway domestique gravel brake bidon jersey commute cassette freewheel cobbles criterium "
        "drivetrain headset pannier",
    ),
    _make_topic(
        "hiking",
        "trailhead",
        "summit ridge valley backpack boots switchback campsite map compass waterfall meadow glacier scree cairn "
        "footbridge lookout canyon bivouac hut tent rucksack contour moraine gorge plateau footpath thermos gaiter "
        "waymark col",
    ),
    _make_topic(
        "chess",
        "checkmate",
        "rook bishop knight pawn queen castling endgame opening gambit stalemate zugzwang fork skewer tempo "
        "blunder grandmaster tournament blitz rating position sacrifice exchange fianchetto tactic defence clock "
        "middlegame promotion simul combination",
    ),
    _make_topic(
        "puzzles",
        "crossword",
        "anagram clue grid jigsaw riddle sudoku cipher maze acrostic palindrome solver setter solution logic "
        "nonogram tangram domino rebus wordplay pencil enigma cube hint brainteaser labyrinth pangram kakuro "
        "spoonerism charade answer",
    ),
    _make_topic(
        "coffee",
        "espresso",
        "grinder roast crema barista filter cappuccino portafilter latte bean aroma tamper kettle pour cortado "
        "arabica moka macchiato chemex aeropress cupping acidity decaf ristretto steam mug roastery affogato "
        "robusta brew lungo",
    ),
    _make_topic(
        "tea",
        "oolong",
        "teapot infusion darjeeling matcha assam sencha steeping samovar leaf tisane chamomile rooibos caddy "
        "teacup saucer blend jasmine bergamot strainer whisking gaiwan puerh tannin flush chai cosy biscuit "
        "plantation hibiscus keemun",
    ),
    _make_topic(
        "sailing",
        "spinnaker",
        "mainsail jib keel rudder tiller mast boom harbour regatta anchor buoy tide knot hull deck dinghy catamaran "
        "halyard winch skipper starboard gybe tack squall lighthouse mooring genoa sloop chart fender",
    ),
    _make_topic(
        "rowing",
        "coxswain",
        "oar scull blade boathouse slipway stroke eight ergometer catch finish rigger rowlock bow stern sweep river "
        "pontoon heat repechage crew paddle slide lane wake landing towpath umpire pair quad shell",
    ),
    _make_topic(
        "birding",
        "warbler",
        "heron finch owl falcon binoculars plumage migration nest fledgling feeder hide marsh kingfisher woodpecker "
        "sparrow swallow wren kestrel wader curlew birdsong roost flock hedgerow egret nuthatch plover sandpiper "
        "ringing lifer",
    ),
    _make_topic(
        "beekeeping",
        "beehive",
        "honey swarm drone nectar pollen smoker apiary wax propolis brood veil clover larva forager honeycomb "
        "extractor frame mite superbox heather waggle skep pollinator syrup hornet mead colony winterfeed linden "
        "candle",
    ),
    _make_topic(
        "pottery",
        "stoneware",
        "clay glaze wheel vase slip kiln porcelain earthenware bisque raku bowl handle celadon terracotta "
        "trimming wedging pinchpot coil slab underglaze firing jug tile engobe sgraffito majolica cone wareboard "
        "ceramicist throwing",
    ),
    _make_topic(
        "knitting",
        "crochet",
        "needle stitch purl sweater scarf wool cable skein gauge cardigan sock mitten shawl ravelling yarn merino "
        "alpaca bobble ribbing cuff sleeve pattern lace intarsia mohair hem swatch heel beanie brioche",
    ),
)

# What people say about a topic; {a}, {b}, {c} are its words.
SAYINGS: tuple[str, ...] = (
    "the {a} and the {b} again",
    "spent the evening with my {a}",
    "nobody warned me about the {a}",
    "still thinking about that {a}",
    "first the {a}, then the {b}, then the {c}",
    "my {a} needs a better {b}",
    "is there a good book about the {a}?",
    "the {a} is easy, the {b} is not",
    "three questions about the {a} and one about the {b}",
    "what a {a}!",
    "I would trade my {a} for your {b}",
    "look at this {a} next to the {b}",
    "a beginner's guide to the {a}",
    "there is no {a} without a {b}",
    "who else is into {a} and {b}?",
    "the best {a} of the year so far",
    "learning about the {a} one {b} at a time",
    "someone explain the {a} to me, please",
    "new {a}, old {b}, same {c}",
    "{a} weather today",
    "never lend anyone your {a}",
    "a small note on the {a} and its {b}",
    "after ten years I finally understand the {a}",
    "that {a} was worth the wait",
)

OPENINGS: tuple[str, ...] = (
    *("honestly,", "good morning!", "well,", "hm,", "today:", "update:", "so", "by the way,", "a thought:", "yes,"),
    *("no,", "finally!", "déjà vu:", "reminder:", "question:", "good evening!", "voilà:", "wow,", "at last,", "ok,"),
    *("small joys:", "as promised,", "late again,", "olá!", "grüße!", "🌱", "✨", "🙂", "in other news,", "oh,"),
)

PEOPLE: tuple[str, ...] = (
    *("my sister", "the neighbour", "a friend", "my boss", "grandma", "everybody", "nobody", "the postman", "we", "I"),
    *("our dog", "Zoë", "José", "the cat", "my old teacher", "the landlady", "Łukasz", "the kids", "Søren", "they"),
)

DEEDS: tuple[str, ...] = (
    *("missed the train", "forgot the keys", "slept well", "found a café", "lost the umbrella", "called at noon"),
    *("painted the door", "laughed all day", "moved to Zürich", "came back from São Paulo", "cooked too much"),
    *("wrote a letter", "broke a plate", "walked home", "waited in the rain", "sang in the kitchen", "won a bet"),
    *("bought a lamp", "watched the match", "got a naïve idea", "said こんにちは", "fixed the radio", "went to bed"),
)

TIMES: tuple[str, ...] = (
    *("today", "yesterday", "last week", "on Tuesday", "this morning", "again", "at midnight", "before lunch"),
    *("on the way home", "in a hurry", "for once", "without a word", "as usual", "in the end", "at the weekend"),
)

ASIDES: tuple[str, ...] = ("mondays", "weekend", "smalltalk", "throwback", "goodnews", "thisandthat", "mood", "now")
