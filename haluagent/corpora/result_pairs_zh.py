"""Chinese tool results with pairs of claims about them: one that the result supports, and the same made wrong."""

import random
from collections.abc import Callable

from haluagent.corpora.result_pairs_en import Looked


def membership(chance: random.Random) -> Looked:
    fee, visits = chance.randint(150, 480), chance.randint(5, 60)
    record = {"会员号": f"HY{chance.randint(1000, 9999)}", "套餐": "季卡", "状态": "有效", "月费": fee, "今年到店次数": visits,
              "储物柜": None}  # fmt: skip
    return Looked("查询会员", {"姓名": "沈亦舟"}, record, [
        ("沈亦舟办的是季卡", "沈亦舟办的是年卡"),
        ("他的会员还在有效期内", "他的会员已经过期"),
        (f"每月费用是{fee}元", f"每月费用是{fee + 60}元"),
        (f"今年他来过{visits}次", f"今年他来过{visits + 4}次"),
        ("他没有储物柜", "他有一个储物柜"),
    ])  # fmt: skip


def garage(chance: random.Random) -> Looked:
    few, many = chance.randint(3, 40), chance.randint(120, 300)
    floors = [{"floor": "B1", "free": 0, "charger": False}, {"floor": "B2", "free": few, "charger": True},
              {"floor": "B3", "free": many, "charger": False}]  # fmt: skip
    return Looked("parking_floors", {"garage": "江边车库"}, {"garage": "江边车库", "closes": "23:30", "floors": floors}, [
        ("B1层已经停满", "B1层还有空位"),
        (f"B2层还剩{few}个车位", f"B2层还剩{many}个车位"),
        ("只有B2层可以充电", "只有B3层可以充电"),
        ("空位最多的是B3层", "空位最多的是B2层"),
        ("车库晚上十一点半关门", "车库晚上十点半关门"),
    ])  # fmt: skip


def museum(chance: random.Random) -> Looked:
    full, half = chance.randint(60, 90), chance.randint(20, 45)
    record = {"开放时间": {"周二至周五": "9:00-17:00", "周末": "9:00-20:00", "周一": "闭馆"},
              "票价": {"成人": full, "学生": half, "六岁以下": 0}, "无障碍通道": True, "宠物": "不得入内"}  # fmt: skip
    return Looked("查询博物馆", {"名称": "潮汐博物馆"}, record, [
        ("潮汐博物馆周一不开放", "潮汐博物馆周一开放"),
        ("周末开放到晚上8点", "周末开放到下午5点"),
        (f"成人票{full}元", f"成人票{half}元"),
        ("六岁以下儿童免费", "六岁以下儿童买学生票"),
        ("坐轮椅也能参观", "坐轮椅无法参观"),
        ("不能带宠物进去", "可以带宠物进去"),
    ])  # fmt: skip


def chess(chance: random.Random) -> Looked:
    first, second = chance.sample(["尹若兰", "柯远", "邵明川", "白露"], 2)
    rows = [{"名次": 1, "选手": first, "积分": 13, "已赛轮数": 8}, {"名次": 2, "选手": second, "积分": 12, "已赛轮数": 8},
            {"名次": 3, "选手": "郎坤", "积分": 9, "已赛轮数": 8}]  # fmt: skip
    return Looked("积分榜", {"赛事": "海港杯"}, rows, [
        (f"目前{first}排在第一", f"目前{second}排在第一"),
        (f"{first}比{second}多1分", f"{first}比{second}多3分"),
        ("郎坤以9分排名第三", "郎坤以6分排名第三"),
        ("比赛已经进行了八轮", "比赛已经进行了九轮"),
    ])  # fmt: skip


def router(chance: random.Random) -> Looked:
    days, clients = chance.randint(12, 90), chance.randint(3, 19)
    record = {"uptime_days": days, "firmware": "4.2.1", "update_available": False, "wan": "up", "clients": clients,
              "guest_wifi": "disabled"}  # fmt: skip
    return Looked("router_status", {}, record, [
        (f"路由器已连续运行{days}天", f"路由器已连续运行{days + 30}天"),
        ("固件已是最新", "有新的固件可以升级"),
        (f"现在连着{clients}台设备", f"现在连着{clients + 11}台设备"),
        ("访客网络没有打开", "访客网络已经打开"),
        ("外网连接正常", "外网连接已断开"),
    ])  # fmt: skip


def insurance(chance: random.Random) -> Looked:
    claimed, share = chance.randint(8, 30) * 100, chance.randint(1, 3) * 100
    record = {"报案号": f"BX{chance.randint(20000, 99999)}", "状态": "审核中", "申请金额": claimed, "免赔额": share,
              "缺少材料": ["维修发票"], "答复期限": "2027-02-18"}  # fmt: skip
    return Looked("查询理赔", {"保单": "HP551"}, record, [
        ("理赔还在审核", "理赔已经通过"),
        (f"您申请的金额是{claimed}元", f"您申请的金额是{claimed * 10}元"),
        (f"其中{share}元由您自己承担", f"其中{share + 150}元由您自己承担"),
        ("还没有交维修发票", "材料已经交齐"),
        ("2027年2月18日之前会有答复", "2027年2月28日之前会有答复"),
    ])  # fmt: skip


def application(chance: random.Random) -> Looked:
    years = chance.randint(3, 9)
    found = {"name": "贺文清", "role": "数据工程师", "stage": "二面", "years": years, "reference_checked": False,
             "languages": ["中文", "英语", "法语"]}  # fmt: skip
    return Looked("get_candidate", {"name": "贺文清"}, {"results": [found], "count": 1}, [
        ("贺文清应聘的是数据工程师", "贺文清应聘的是数据分析师"),
        ("他现在到了二面", "他已经拿到录用通知"),
        (f"他有{years}年工作经验", f"他有{years + 6}年工作经验"),
        ("背景调查还没有做", "背景调查已经完成"),
        ("他会三种语言", "他会四种语言"),
        ("一共找到一位候选人", "一共找到两位候选人"),
    ])  # fmt: skip


def meter(chance: random.Random) -> Looked:
    before, used = chance.randint(2000, 6000), chance.randint(110, 390)
    record = {"户号": f"{chance.randint(100000, 999999)}", "上期示数": before, "本期示数": before + used, "本期用电": used, "欠费": 0,
              "计费方式": "阶梯电价"}  # fmt: skip
    return Looked("查询电表", {"地址": "槐树巷6号"}, record, [
        (f"这期用了{used}度电", f"这期用了{used + 45}度电"),
        (f"电表现在的读数是{before + used}", f"电表现在的读数是{before}"),
        ("没有欠费", "有欠费没有结清"),
        ("按阶梯电价计费", "按分时电价计费"),
    ])  # fmt: skip


def note(chance: random.Random) -> Looked:
    height, since = chance.randint(15, 60), chance.randint(1905, 1968)
    text = f"鸥嘴灯塔。塔高{height}米，{since}年用花岗岩建成。1984年起自动运行，守塔人的房子现在是青年旅舍。灯光的射程是17海里。"
    return Looked("读取网页", {"url": "https://gullpoint.example/zh"}, text, [
        (f"鸥嘴灯塔建于{since}年", f"鸥嘴灯塔建于{since + 21}年"),
        (f"塔高{height}米", f"塔高{height * 2}米"),
        ("那里已经没有守塔人了", "那里仍有守塔人值守"),
        ("守塔人的房子可以住宿", "守塔人的房子已经拆了"),
        ("灯光能照到17海里远", "灯光能照到27海里远"),
    ])  # fmt: skip


def minutes(chance: random.Random) -> Looked:
    votes = chance.randint(6, 11)
    text = f"会议记录：到会14人。新围栏的方案以{votes}票对3票通过。账目由欧女士从卜先生手中接管。因为施工，夏季集市从六月改到九月。"
    return Looked("打开文档", {"文档": "会议记录"}, text, [
        ("会议同意修新围栏", "会议否决了新围栏"),
        (f"{votes}人投了赞成票", "3人投了赞成票"),
        ("账目现在由欧女士管", "账目现在由卜先生管"),
        ("夏季集市在九月举行", "夏季集市在六月举行"),
    ])  # fmt: skip


KINDS: tuple[Callable[[random.Random], Looked], ...] = (
    membership, garage, museum, chess, router, insurance, application, meter, note, minutes,
)  # fmt: skip
