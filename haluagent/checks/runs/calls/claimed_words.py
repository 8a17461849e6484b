"""The words by which an answer says that something was done or found with a tool, and those of the tools that do it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Deed:
    """Something that only a tool can do.

    `english` and `chinese` are regular expression alternatives for having done it; `tools` holds the words in the name
    or the description of a tool that does it.
    """

    english: str
    chinese: str
    tools: frozenset[str]


_DEEDS = """
    sent emailed e-mailed messaged notified texted forwarded replied
    发送 寄出 发出 发给 通知 转发 回复
    send sent email mail message sms notify notification notifies text post slack reply forward 发送 邮件 短信 消息 通知 转发 回复

    booked reserved
    预订 预定 预约 订好 订购
    book books booking reserve reserves reservation ticket 预订 预定 预约 订票 下单

    ordered purchased bought
    下单 购买 订购
    order buy purchase checkout cart book 下单 购买 订购

    paid refunded transferred charged credited
    支付 付款 退款 转账 汇款 扣款
    pay payment refund refunds transfer transfers charge credit money wire 支付 付款 退款 转账 汇款 扣款

    created added opened registered set_up logged
    创建 新建 添加 登记 新增 注册 建立
    create creates add adds new open insert register make set schedule log book write post put 创建 新建 添加 登记 新增 注册 建立 安排

    deleted removed erased
    删除 移除 清除
    delete deletes remove removes drop erase clear cancel 删除 移除 清除

    updated changed modified edited renamed enabled disabled activated deactivated
    更新 修改 更改 变更 启用 停用 禁用
    update updates change changes modify edit set patch put write rename enable disable toggle configure 更新 修改 更改 设置 启用 停用 禁用

    cancelled canceled
    取消 退订
    cancel cancels delete remove update 取消 退订 删除

    scheduled rescheduled postponed
    安排 改期 推迟 预约
    schedule schedules reschedule calendar event meeting appointment create book reminder 日程 会议 安排 改期 预约 日历

    saved uploaded exported downloaded stored backed_up
    保存 上传 导出 下载 备份 存储
    save saves write writes upload store export file download backup put create 保存 写入 上传 导出 下载 备份 文件

    submitted filed escalated
    提交 上报 递交
    submit file create ticket report escalate send post request apply refund order book cancel transfer pay 申请 退款 提交 上报 工单 创建

    deployed restarted rebooted merged published committed pushed
    部署 重启 发布 合并 推送 上线
    deploy restart reboot merge publish commit push release rollout post 部署 重启 发布 合并 推送
"""


def _deed(block: str) -> Deed:
    english, chinese, tools = (line.split() for line in block.strip().splitlines())
    return Deed("|".join(english).replace("_", " "), "|".join(chinese), frozenset(tools))


DEEDS = tuple(map(_deed, _DEEDS.split("\n\n")))
# A tool with such a name can do anything.
ANYTHING = frozenset(
    """
    act api bash browser call click code command computer exec execute graphql http invoke python
    request rpc run shell sql terminal
    """.split()
)
# A tool whose name begins like this changes nothing.
READS = frozenset(
    """
    check count describe fetch find get list look lookup query read retrieve search show view
    """.split()
)
# These words do not show which tool is meant.
COMMON = frozenset(
    """
    api data database endpoint lookup query result results returned returns showed shows tool tools 工具
    接口 数据 显示 查询 结果 返回
    """.split()
)
THINGS = {
    "天气": "weather forecast",
    "日历": "calendar",
    "日程": "calendar schedule",
    "邮件": "email mail inbox",
    "搜索": "search",
    "数据库": "database sql query",
    "股票": "stock",
    "股价": "stock price quote",
    "汇率": "exchange currency rate",
    "航班": "flight",
    "酒店": "hotel",
    "订单": "order",
    "库存": "inventory stock",
    "地图": "map",
    "新闻": "news",
    "客户": "customer crm",
    "物流": "shipping tracking",
    "文件": "file",
    "余额": "balance account",
}
"""What the two languages call the things that tools look up."""
