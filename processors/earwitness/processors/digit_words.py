"""How digits are said in six languages: words without accents, and what they stand for when a number is dictated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Language:
    """The digit words of one language. ``tens`` take a following unit, after a joiner or not; ``pauses`` may stand
    between digits; ``weak`` words are ordinary ones too, and make no digit string by themselves."""

    units: Mapping[str, str]
    tens: Mapping[str, int] = field(default_factory=dict[str, int])
    joiners: frozenset[str] = frozenset()
    repeats: Mapping[str, int] = field(default_factory=dict[str, int])
    hundreds: frozenset[str] = frozenset()
    pauses: frozenset[str] = frozenset()
    weak: frozenset[str] = frozenset()
    vigesimal: bool = False
    """Whether sixty and four times twenty take ten to nineteen too, as in French."""


def words(text: str) -> frozenset[str]:
    """The words of a line, as a set."""
    return frozenset(text.split())


def _count(text: str, first: int = 0) -> dict[str, str]:
    return {word: str(number) for number, word in enumerate(text.split(), first)}


def _tens(text: str, first: int = 2) -> dict[str, int]:
    return {word: number for number, word in enumerate(text.split(), first)}


def _round(tens: Mapping[str, int]) -> dict[str, str]:
    return {word: f"{digit}0" for word, digit in tens.items()}


def _english() -> Language:
    units = _count("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen")
    units |= _count("sixteen seventeen eighteen nineteen", 16)
    return Language(
        units | {"oh": "0", "o": "0", "nought": "0", "naught": "0", "niner": "9"},
        _tens("twenty thirty forty fifty sixty seventy eighty ninety"),
        repeats={"double": 2, "triple": 3, "treble": 3, "quadruple": 4},
        hundreds=words("hundred"),
        pauses=words("dash hyphen space dot point uh um er erm and then"),
        weak=words("oh o"),
    )


def _german() -> Language:
    units = _count("null eins zwei drei vier funf sechs sieben acht neun zehn elf zwolf dreizehn vierzehn funfzehn")
    units |= _count("sechzehn siebzehn achtzehn neunzehn", 16)
    units |= {"zwo": "2", "fuenf": "5", "zwoelf": "12", "fuenfzehn": "15"}
    tens = _tens("zwanzig dreissig vierzig funfzig sechzig siebzig achtzig neunzig") | {"fuenfzig": 5}
    for one, word in enumerate(["ein", "zwei", "drei", "vier", "funf", "sechs", "sieben", "acht", "neun"], 1):
        units |= {f"{word}und{ten}": f"{digit}{one}" for ten, digit in tens.items()}
    units |= {f"fuenfund{ten}": f"{digit}5" for ten, digit in tens.items()}
    return Language(
        units | _round(tens),
        repeats={"doppel": 2, "doppelt": 2, "dreifach": 3},
        pauses=words("strich bindestrich punkt leerzeichen ah ahm aeh und dann"),
    )


def _french() -> Language:
    units = _count("zero un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize")
    return Language(
        units | {"une": "1"},
        _tens("vingt trente quarante cinquante soixante septante octante nonante") | {"huitante": 8},
        joiners=words("et"),
        repeats={"double": 2, "triple": 3},
        pauses=words("tiret point espace euh puis"),
        weak=words("un une"),
        vigesimal=True,
    )


def _spanish() -> Language:
    units = _count("cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince")
    units |= _count("dieciseis diecisiete dieciocho diecinueve veinte veintiuno veintidos veintitres veinticuatro", 16)
    units |= _count("veinticinco veintiseis veintisiete veintiocho veintinueve", 25)
    return Language(
        units,
        _tens("treinta cuarenta cincuenta sesenta setenta ochenta noventa", 3),
        joiners=words("y"),
        repeats={"doble": 2, "triple": 3},
        pauses=words("guion punto espacio eh"),
        weak=words("uno once"),
    )


def _italian() -> Language:
    units = _count("zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici")
    units |= _count("quindici sedici diciassette diciotto diciannove", 15)
    tens = _tens("venti trenta quaranta cinquanta sessanta settanta ottanta novanta")
    for one, word in enumerate(["uno", "due", "tre", "quattro", "cinque", "sei", "sette", "otto", "nove"], 1):
        units |= {(ten[:-1] if word[0] in "uo" else ten) + word: f"{digit}{one}" for ten, digit in tens.items()}
    return Language(
        units | _round(tens),
        repeats={"doppio": 2, "triplo": 3},
        pauses=words("trattino punto spazio eh"),
        weak=words("uno due sei"),
    )


def _portuguese() -> Language:
    units = _count("zero um dois tres quatro cinco seis sete oito nove dez onze doze treze catorze quinze")
    units |= _count("dezesseis dezessete dezoito dezenove", 16)
    units |= {"uma": "1", "duas": "2", "meia": "6", "quatorze": "14"}
    return Language(
        units | {"dezasseis": "16", "dezassete": "17", "dezanove": "19"},
        _tens("vinte trinta quarenta cinquenta sessenta setenta oitenta noventa"),
        joiners=words("e"),
        repeats={"duplo": 2, "triplo": 3},
        pauses=words("traco hifen ponto espaco eh"),
        weak=words("um uma meia onze"),
    )


LANGUAGES: tuple[Language, ...] = (_english(), _german(), _french(), _spanish(), _italian(), _portuguese())
DIGIT_WORDS: frozenset[str] = frozenset(
    word for language in LANGUAGES for table in (language.units, language.tens, language.repeats) for word in table
)
