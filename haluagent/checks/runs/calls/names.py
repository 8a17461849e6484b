"""Names in a call's arguments: of users, persons and cities.

A name may be translated, abbreviated, or be what a description means ("my wife", "the capital"). So one that the texts do
not have is never called invented.
"""

import re
from collections.abc import Callable

LONGEST = 60  # characters of a name

_PARAMETER = re.compile(
    r"(?:.*_)?(?:user_?name|user|login|assignee|owner|person|people|patient|customer|passengers?|guest|attendees?|participants?|contact|"
    r"recipient|(?:first|last|full|middle|family|given|customer|patient|guest|user|contact)_?name|surname|city|town|destination|origin|"
    r"(?:from|to|departure|arrival)_?city|doctor|用户名?|姓名|城市|联系人|收件人|患者|乘客|医生|目的地|出发地)"
)
_NAME = re.compile(r"(?=.*[^\W\d_]{2})[^\d@/\\:#<>{}()\[\]=*]+")
_CODE = re.compile(r"[A-Z]{2,4}")  # LIS
_SUFFIX = re.compile(r"(?<=..)(?:市|县|省|区|先生|女士|医生|老师|大夫)$")
_BETWEEN = re.compile(r"[\s,，._·'’-]+")


def is_name(parameter: str, value: str) -> bool:
    """Return whether a value is the name of a user, a person or a city, by the name of its parameter."""
    value = value.strip()
    return (
        len(value) <= LONGEST
        and _PARAMETER.fullmatch(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", parameter[:LONGEST]).lower()) is not None
        and _NAME.fullmatch(value) is not None
        and not _CODE.fullmatch(value)
    )


def is_given(name: str, has: Callable[[str], bool]) -> bool:
    """Return whether the texts give a name: as it is, word by word (Santos, Maria), without a title, or shortened to a
    user name (jsmith from John Smith). `has` says whether they have a word by itself."""
    name = name.strip()
    if has(name) or has(_SUFFIX.sub("", name)):
        return True
    words = [word for word in _BETWEEN.split(name) if word]
    if len(words) > 1:
        return all(len(word) == 1 or has(word) for word in words)
    return name.isascii() and any(len(part) >= 3 and has(part) for part in (name[1:], name[2:], name[:-1]))
