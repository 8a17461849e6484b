"""The roles of parameters and fields, by their names, and the units that their values have."""

import re
from fractions import Fraction

# How a parameter or a field is used, by the last word of its name.
_WORDS = {
    "identifier": "id ids no number code key ref reference order ticket invoice account sku zip postal postcode phone mobile tel "
    "serial pin 编号 单号 订单号 号码 账号 卡号 邮编",
    "money": "amount price total subtotal cost fee refund budget balance tax tip fare payment salary deposit 金额 价格 总价 费用 预算",
    "count": "quantity qty count guests people persons adults children rooms nights seats tickets copies items units passengers "
    "participants attendees size 数量 人数 件数 晚数 天数",
    "place": "lat latitude lon lng long longitude coordinates 纬度 经度",
    "setting": "limit page pages pagenumber pagesize offset skip k n top topk results temperature timeout retries precision depth width "
    "height indent radius zoom tokens threshold delay interval seed quality workers concurrency",
}
_OF_MANY = ("results", "tokens", "items", "k", "n", "p")
_ROLE_OF_WORD = {word: role for role, words in _WORDS.items() for word in words.split()}
NOT_FOR: dict[str, frozenset[str]] = {
    "money": frozenset(("identifier", "date")),
    "count": frozenset(("identifier", "date", "money", "percent")),
    "identifier": frozenset(("money", "percent", "measure")),
}  # fmt: skip
# The units of a dimension in words, and how many of the first of them each is.
UNITS: dict[str, tuple[str, Fraction]] = {
    word: (dimension, Fraction(size))
    for dimension, units in {
        "time": "ms=milli=millis=millisecond=毫秒:1 s=sec=second=秒:1000 min=minute=分钟:60000 h=hr=hour=小时:3600000 "
        "d=day=night=天=晚=夜:86400000 week=周=星期:604800000 fortnight:1209600000 month=个月=月:2592000000 "
        "quarter=季度:7776000000 y=year=yr=年:31536000000",
        "length": "mm=毫米:1 cm=厘米:10 m=meter=metre=米:1000 km=kilometer=kilometre=公里=千米:1000000 inch=inche:25.4 ft=feet=foot:304.8 "
        "mi=mile:1609344",
        "mass": "mg=毫克:1 g=gram=克:1000 kg=kilo=kilogram=公斤=千克:1000000 lb=pound:453592.37 oz=ounce:28349.523125 吨=tonne:1000000000",
        "volume": "ml=毫升:1 l=liter=litre=升:1000",
        "data": "byte=bytes=字节:1 kb:1024 mb:1048576 gb:1073741824 tb:1099511627776",
        "temperature": "celsius=c=fahrenheit=f:1",
        "speed": "kmh=kph=mph:1",
        "money": "cent=分=fen=pence=penny:1 角:10 $=€=£=¥=dollar=usd=euro=eur=pound_sterling=yuan=元=块=cny=rmb:100",
    }.items()
    for unit in units.split()
    for words, _, size in [unit.partition(":")]
    for word in words.split("=")
}  # fmt: skip
_UNIT = re.compile(
    r"[\s-]*个?(?:(?P<latin>[a-z]{1,12}?)s?(?![a-z])|(?P<han>毫秒|个月|分钟|小时|星期|季度|毫米|厘米|公里|千米|毫克|公斤|千克|毫升|字节"
    r"|[秒天晚夜周月年米克吨升角元块分]))",
    re.I,
)
_PER = re.compile(r"\((?:in )?([a-z]+|[^\W\d_]{1,3})\)|\bin ([a-z]+)\b|单位[为是:：]?\s*([^\W\d_]{1,2})", re.I)


def role_of(name: str) -> str:
    """Return how a parameter or a field is used by its name: a key of `_WORDS`, or `` for any other."""
    parts = _parts(name)
    if not parts:
        return ""
    if parts[0] in ("num", "n", "no") and len(parts) > 1 or parts[:2] == ["number", "of"]:
        return _ROLE_OF_WORD.get(parts[-1], "count").replace("identifier", "count")
    if parts[0] in ("max", "top") and parts[-1] in _OF_MANY:
        return "setting"
    return _ROLE_OF_WORD.get(parts[-1], "")


def unit_of(name: str, description: str = "") -> tuple[str, Fraction] | None:
    """Return the dimension and the size of the unit that a parameter's name (`duration_sec`) or description names."""
    parts = _parts(name)
    if parts and parts[-1] in ("year", "month", "day", "week", "quarter"):
        return None
    if (
        parts
        and (len(parts[-1]) > 1 or len(parts) > 1)
        and (found := unit_named("inch" if parts[-1] == "in" else parts[-1]))
    ):
        return found
    for match in _PER.finditer(description):
        if found := unit_named((match[1] or match[2] or match[3]).lower()):
            return found
    return None


def unit_after(text: str) -> tuple[str, Fraction] | None:
    """Return the dimension and the size of the unit at the start of a text, if there is one."""
    match = _UNIT.match(text)
    return unit_named((match["latin"] or match["han"]).lower()) if match else None


def unit_named(word: str) -> tuple[str, Fraction] | None:
    """Return the dimension and the size of the unit that a word is."""
    return UNITS.get(word) or UNITS.get(word.removesuffix("s"))


def _parts(name: str) -> list[str]:
    return re.findall(r"[a-z]+|[^\W\d_a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name[:80]).lower())
