"""Small words per language, as a careful speaker of it would sort them."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earwitness.monitor.calls.lexicon import LISTS, SHIPPED, lexicon
from earwitness.monitor.calls.tokens import tokens

BACKCHANNELS = {
    "en": [
        "Uh-huh.",
        "mm-hm",
        "MMMM",
        "yeahhh",
        "Yeah, yeah.",
        "yeah okay",
        "I see",
        "got it",
        "that’s right",
        "no problem",
    ],
    "zh": ["嗯", "嗯嗯嗯", "好的", "对对对", "我知道了", "沒問題", "好，OK", "明白了。", "是的，好", "不错"],
    "hi": ["जी हाँ", "हां हां", "अच्छा, ठीक है", "हम्म", "समझ गई", "haan ji", "theek hai", "okay जी", "बिलकुल"],
    "es": ["sí, sí", "siii", "Ajá", "vale, vale", "claro que sí", "mhm", "ya, entiendo", "de acuerdo"],
    "ar": ["نعم", "أيوه أيوه", "تَمام", "طيّب", "إن شاء الله", "فهمت", "اه تمام", "صحيـــح", "ماشي أوكي"],
    "fr": ["d’accord", "ouais ouais", "Ouiii", "je vois", "ah bon", "c'est ça", "très bien", "mmh"],
    "bn": ["হ্যাঁ হ্যাঁ", "আচ্ছা", "ঠিক আছে", "জি, বুঝেছি", "হুমমম", "ও আচ্ছা", "okay ঠিক আছে"],
    "pt": ["uhum", "tá bom", "sim, sim", "Entendi", "pois é", "é isso aí", "beleza", "táááá bom"],
    "ru": ["угу", "да-да", "дааа", "ага, понятно", "хорошо", "Всё ясно", "ну да", "мгм", "ладно, окей"],
    "id": ["iya iya", "he-eh", "oh begitu", "baik, Pak", "yaaa", "oke deh", "saya mengerti", "betul"],
    "de": ["mhm", "ja, genau", "achsooo", "alles klar", "verstehe"],
    "it": ["sì sì", "va bene", "ho capito", "certooo", "d’accordo"],
}
WANTS = {
    "en": [
        "stop",
        "umm okay stop",
        "no",
        "wait a second",
        "yeah but I need Tuesday",
        "hold on",
        "not now",
        "okay cancel",
    ],
    "zh": ["停", "等一下", "不对", "不是", "好了好了", "对不起", "我想改时间", "可以吗", "嗯不要", "是不是星期二"],
    "hi": ["रुकिए", "नहीं नहीं", "एक मिनट", "हाँ लेकिन", "सुनिए", "मुझे कल आना है", "ruko", "bas karo"],
    "es": ["para", "espere", "no", "sí pero no", "un momento", "quiero cambiar la cita", "oiga"],
    "ar": ["لا", "لحظة", "توقف", "نعم لكن", "انتظر شوية", "بس", "أريد موعدا آخر", "استنى"],
    "fr": ["attendez", "non", "oui mais", "stop", "un instant", "je voudrais changer", "arrêtez"],
    "bn": ["থামুন", "না না", "এক মিনিট", "হ্যাঁ কিন্তু", "শুনুন", "দাঁড়ান", "আমি কাল আসব"],
    "pt": ["espera", "não", "sim mas", "um momento", "peraí", "quero mudar a consulta", "para"],
    "ru": ["стоп", "нет", "подождите", "да но", "секундочку", "мне нужно завтра", "не надо"],
    "id": ["tunggu", "tidak", "iya tapi", "sebentar", "jangan", "saya mau ganti jadwal", "stop"],
    "de": ["warten Sie", "nein", "ja aber", "Moment mal", "ich möchte", "stopp"],
    "it": ["aspetti", "no", "sì ma", "un attimo", "vorrei cambiare", "basta"],
}
STOPS = {
    "en": ["stop", "wait wait", "hold on a second", "nooo", "no, Tuesday"],
    "zh": ["等一下", "不对", "停停停"],
    "hi": ["रुकिए", "एक मिनट", "nahi"],
    "es": ["para", "espere un poco", "no no"],
    "ar": ["لحظة", "لأ", "انتظر"],
    "fr": ["attendez", "non non"],
    "bn": ["থামুন", "না"],
    "pt": ["para", "não"],
    "ru": ["стоп", "подождите минуту"],
    "id": ["tunggu dulu", "tidak"],
    "de": ["halt", "nein"],
    "it": ["aspetta", "no"],
}
NO_STOPS = {
    "en": ["but only in the morning", "no problem", "and then"],
    "zh": ["不错"],
    "es": ["para mañana", "pero solo"],
    "pt": ["para amanhã", "mas só"],
    "de": ["aber nur"],
    "hi": ["कोई बात नहीं"],
    "ar": ["لا مشكلة"],
    "ru": ["не проблема"],
    "id": ["tidak masalah"],
}
TAKES_LEAVE = {
    "en": "Thank you, have a great day!",
    "zh": "感谢您的来电，再见。",
    "hi": "कॉल करने के लिए धन्यवाद।",
    "es": "Que tenga un buen día.",
    "ar": "شكراً لاتصالك، مع السلامة.",
    "fr": "Merci de votre appel, au revoir.",
    "bn": "কল করার জন্য ধন্যবাদ।",
    "pt": "Obrigado por ligar, até logo.",
    "ru": "Спасибо за звонок, всего доброго!",
    "id": "Terima kasih sudah menelepon, sampai jumpa.",
    "de": "Auf Wiederhören!",
    "it": "Arrivederci!",
}
ASKS_TO_WAIT = {
    "en": "One moment, let me check that.",
    "zh": "请稍等，我帮您查一下。",
    "hi": "एक मिनट, मैं चेक करती हूँ।",
    "es": "Un momento, voy a revisar.",
    "ar": "لحظة من فضلك، دعني أتحقق.",
    "fr": "Un instant, je vérifie.",
    "bn": "একটু অপেক্ষা করুন, আমি দেখছি।",
    "pt": "Um momento, vou verificar.",
    "ru": "Одну минуту, сейчас проверю.",
    "id": "Mohon tunggu, saya cek dulu.",
    "de": "Einen Moment, ich schaue nach.",
    "it": "Un attimo, sto controllando.",
}
HANDS_OVER = {
    "en": "I'll transfer you to a colleague.",
    "zh": "我为您转接人工客服。",
    "hi": "मैं आपको ट्रांसफर कर रही हूँ।",
    "es": "Le transfiero con un agente.",
    "ar": "سأحولك إلى موظف.",
    "fr": "Je vous transfère.",
    "bn": "আমি আপনাকে ট্রান্সফার করছি।",
    "pt": "Vou transferir você para um atendente.",
    "ru": "Я переведу вас на оператора.",
    "id": "Saya sambungkan ke petugas kami.",
    "de": "Ich verbinde Sie.",
    "it": "La trasferisco.",
}
IS_ANYBODY_THERE = {
    "en": ["Hello?", "hello hello", "Are you there?", "hello, can you hear me?"],
    "zh": ["喂？", "喂，听得到吗？", "有人吗"],
    "hi": ["हैलो?", "मेरी आवाज़ आ रही है?", "hello sunai de raha hai"],
    "es": ["¿Hola?", "¿Me escucha?"],
    "ar": ["ألو؟", "ألو، سامعني؟"],
    "fr": ["Allô ?", "Vous m’entendez ?"],
    "bn": ["হ্যালো?", "শুনতে পাচ্ছেন?"],
    "pt": ["Alô?", "Está me ouvindo?"],
    "ru": ["Алло!", "Вы меня слышите?"],
    "id": ["Halo?", "Halo, bisa dengar saya?"],
    "de": ["Hallo?", "Hören Sie mich?"],
    "it": ["Pronto?", "Mi sente?"],
}


def each(table: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(language, text) for language, texts in table.items() for text in texts]


@pytest.mark.parametrize(("language", "text"), each(BACKCHANNELS))
def test_backchannels(language: str, text: str) -> None:
    assert lexicon(language).is_backchannel(tokens(text))
    assert not lexicon(language).is_stop(tokens(text))


@pytest.mark.parametrize(("language", "text"), each(WANTS))
def test_words_that_want_the_floor_are_no_backchannels(language: str, text: str) -> None:
    assert not lexicon(language).is_backchannel(tokens(text))
    assert lexicon(language).reads(tokens(text))


@pytest.mark.parametrize(("language", "text"), each(STOPS))
def test_stop_words(language: str, text: str) -> None:
    assert lexicon(language).is_stop(tokens(text))


@pytest.mark.parametrize(("language", "text"), each(NO_STOPS))
def test_words_that_only_begin_like_stop_words(language: str, text: str) -> None:
    assert not lexicon(language).is_stop(tokens(text))


@pytest.mark.parametrize("language", SHIPPED)
def test_what_the_agent_says(language: str) -> None:
    words = lexicon(language)
    leave, wait, hand_over = (tokens(t[language]) for t in (TAKES_LEAVE, ASKS_TO_WAIT, HANDS_OVER))
    assert words.is_farewell(leave)
    assert words.announces_wait(wait)
    assert words.promises_action(wait)
    assert words.promises_transfer(hand_over)
    assert not words.is_farewell(wait)
    assert not words.promises_transfer(wait)
    assert not words.announces_wait(leave)


@pytest.mark.parametrize(("language", "text"), each(IS_ANYBODY_THERE))
def test_asking_whether_anybody_is_there(language: str, text: str) -> None:
    assert lexicon(language).asks_presence(tokens(text))


@pytest.mark.parametrize("text", ["Hello, I'd like to book a table.", "okay", "hello there Anna it's me", ""])
def test_a_greeting_with_more_to_it_asks_for_nobody(text: str) -> None:
    assert not lexicon("en").asks_presence(tokens(text))


@pytest.mark.parametrize("language", SHIPPED)
def test_the_lists_are_whole_and_do_not_contradict_one_another(language: str) -> None:
    words = lexicon(language)
    assert all(words.lists[name].phrases for name in LISTS if name != "stops_alone")
    for stop in words.lists["stops"].phrases | words.lists["stops_alone"].phrases:
        assert not words.is_backchannel(stop), stop
    for small in words.lists["backchannels"].phrases:
        assert not words.is_stop(small), small
        assert not words.asks_presence(small), small
        assert not words.is_closing(small), small


@pytest.mark.parametrize("language", SHIPPED)
def test_the_files_hold_phrases_with_words_under_known_names(language: str) -> None:
    text = files("earwitness.monitor.calls").joinpath("words", f"{language}.toml").read_text(encoding="utf-8")
    lists = tomllib.loads(text)
    assert set(lists) <= set(LISTS)
    assert all(tokens(phrase) for phrases in lists.values() for phrase in phrases)


@given(st.text(), st.sampled_from((*SHIPPED, "ja")))
def test_no_text_breaks_a_list(text: str, language: str) -> None:
    words, found = lexicon(language), tokens(text)
    answers = [
        words.reads(found), words.is_backchannel(found), words.is_stop(found), words.is_closing(found),
        words.is_farewell(found), words.announces_wait(found), words.promises_action(found),
        words.promises_transfer(found), words.asks_presence(found),
    ]  # fmt: skip
    assert all(isinstance(answer, bool) for answer in answers)
    assert words.known or not any(answers)


@given(st.lists(st.sampled_from(sorted(lexicon("en").lists["backchannels"].phrases)), min_size=1, max_size=6))
def test_backchannels_in_a_row_are_backchannels(row: list[tuple[str, ...]]) -> None:
    assert lexicon("en").is_backchannel([word for phrase in row for word in phrase])


@pytest.mark.parametrize(
    ("tag", "language"),
    [
        ("en-US", "en"), ("pt-BR", "pt"), ("zh-Hans-CN", "zh"), ("cmn-Hans", "zh"), ("ES_mx", "es"), ("arz", "ar"),
        (None, "en"), ("", "en"), (" ", "en"),
    ],
)  # fmt: skip
def test_a_tag_chooses_its_language(tag: str | None, language: str) -> None:
    assert lexicon(tag) is lexicon(language)
    assert lexicon(tag).known


@pytest.mark.parametrize("tag", ["ja-JP", "zh-HK", "yue-Hant", "multi", "und", "../en", "x", "tlh"])
def test_a_language_without_lists_decides_nothing(tag: str) -> None:
    words = lexicon(tag)
    assert not words.known
    assert not words.reads(("mm",))
    assert not words.is_backchannel(("mm",))


@pytest.mark.parametrize(
    ("language", "text", "reads"),
    [
        ("en", "sí claro", True), ("en", "हाँ", False), ("en", "да", False), ("en", "call <phone:12:1f3c> 5", True),
        ("hi", "हाँ okay", True), ("zh", "好的 okay", True), ("zh", "はい", False), ("ru", "да okay", True),
    ],
)  # fmt: skip
def test_words_in_a_script_that_a_list_is_not_written_in_decide_nothing(language: str, text: str, reads: bool) -> None:
    assert lexicon(language).reads(tokens(text)) is reads


def test_a_sites_own_words_are_added_and_win() -> None:
    added = (("en", "backchannels", ("righty-ho", "sorry")), ("en", "stops", ("okay",)))
    words = lexicon("en-GB", added)
    assert words.is_backchannel(tokens("Righty ho, sorry"))
    assert not words.is_stop(tokens("sorry"))
    assert words.is_stop(tokens("okay"))
    assert not words.is_backchannel(tokens("okay"))
    assert lexicon("en").is_backchannel(tokens("okay"))
    assert lexicon("es", added) is not words
    assert lexicon("es", added).is_backchannel(tokens("vale"))


def test_a_site_can_give_the_words_of_a_language_without_lists() -> None:
    words = lexicon("ja-JP", (("ja", "backchannels", ("はい", "うん", "ええ")),))
    assert words.known
    assert words.is_backchannel(tokens("うん、はい、はい。"))
    assert words.reads(tokens("ちょっと待って"))
    assert not words.is_backchannel(tokens("ちょっと待って"))
