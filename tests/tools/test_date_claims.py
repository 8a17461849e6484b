"""What the date tool decides, and what it leaves: sentences with a question, by what the calendar says of them."""

import asyncio

import pytest

from haluagent.protocols import ToolContext
from haluagent.text import date_claims
from haluagent.text.segment import split
from haluagent.tools.date import date
from haluagent.types import ToolResult

RIGHT = [
    ("", "1955年4月18日星期一。"),
    ("", "18 April 1955 fell on a Monday."),
    ("", "May 1, 2021 is a Saturday and May 2, 2021 is a Sunday."),
    ("What weekday was 2021-05-01?", "Saturday."),
    ("2021-05-01是周几？", "周六"),
    ("请问2021年5月1日是星期几？", "答案是星期六。"),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "It is 74 days in total."),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "So the answer is 74 days."),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "74 days exactly."),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "The number of days is 74."),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "10 weeks and 4 days"),
    ("从2024年1月15日到2024年3月29日一共有多少天？", "这两天相差74天。"),
    ("从2024年1月15日到2024年3月29日一共有多少天？", "10周零4天"),
    ("从2024年1月15日到2024年3月29日一共有多少天？", "共75天（含首尾）。"),
    ("2024年1月15日和2024年3月29日相差几天？", "74天"),
    ("2024年1月15日距离2024年3月29日有多少天？", "74天"),
    ("今天是2024年1月15日，距离2024年3月29日还有多少天？", "还有74天。"),
    ("What is the number of days between 2024-01-15 and 2024-03-29?", "74 days"),
    ("From 2024-01-15 to 2024-03-29, how many days are there in total?", "74 days"),
    ("", "April 18, 1955 was a Monday."),
    ("", "2021年5月1日是星期六。"),
    ("", "1955年4月18日（星期一）"),
    (
        "How many days are there from 2024-01-15 to 2024-03-29?",
        "January has 31 days. February 2024 has 29 days. So it is 74 days.",
    ),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "There are 74 days."),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "74"),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "74 days"),
    ("How many days are there from 2024-01-15 to 2024-03-29, inclusive?", "There are 75 days."),
    ("从2024年1月15日到2024年3月29日，含首尾共多少天？", "共75天。"),
    ("How many weeks are there from 2024-01-15 to 2024-02-08?", "3 weeks and 3 days"),
    ("从2024年1月1日到2024年3月6日一共几周？", "9周2天"),
    ("从2024年1月1日到2024年3月6日一共几周？", "9周零2天"),
    ("How many months are there from 2023-01-01 to 2024-01-01?", "12 months"),
    ("2021年5月1日是星期几？", "星期六"),
    ("2021年5月1日是星期几？", "那天是星期六。"),
    ("What day of the week was April 18, 1955?", "It was a Monday."),
    ("On what day of the week did April 18, 1955 fall?", "Monday."),
    ("", "From 2020-02-01 to 2020-02-15 there are two weeks."),
    ("", "从2020年2月1日到2020年2月15日共14天。"),
    ("", "2020年2月1日与2020年2月15日相差14天。"),
    ("", "2020年2月15日比2020年2月1日晚14天。"),
    ("", "February 15, 2020 is 14 days after February 1, 2020."),
    ("", "14 days after February 1, 2020 is February 15, 2020."),
    (
        "How many days are there between January 15, 2024 and March 29, 2024?",
        "From January 15 to March 29 there are 74 days.",
    ),
    (
        "How many days are there between January 15, 2024 and March 29, 2024?",
        "There are 74 days between January 15, 2024 and March 29, 2024.",
    ),
    (
        "How many days are there between January 15, 2024 and March 29, 2024?",
        "There are 74 days between the two dates.",
    ),
    ("How many days are there between January 15, 2024 and March 29, 2024?", "The answer is 74 days."),
    ("How many days are there between January 15, 2024 and March 29, 2024?", "The two dates are 74 days apart."),
    ("How many days are there between January 15, 2024 and March 29, 2024?", "74 days (10 weeks and 4 days)."),
    ("How many days are there between January 15, 2024 and March 29, 2024?", "There are **74** days."),
    ("How many days are there between January 15, 2024 and March 29, 2024?", "There are seventy-four days."),
    ("从2024年1月15日到2024年3月29日一共有多少天？", "从2024年1月15日到2024年3月29日一共有74天。"),
    ("从2024年1月15日到2024年3月29日一共有多少天？", "一共有七十四天。"),
    ("从2024年1月15日到2024年3月29日一共有多少天？", "答：74天。"),
    ("从2024年1月15日到2024年3月29日一共有多少天？", "从1月15日到3月29日共74天。"),
    ("从2024年1月15日到2024年3月29日一共有多少天？", "74"),
    (
        "从2024年1月15日到2024年3月29日一共有多少天？",
        "1月15日到1月31日是16天。2月是29天。3月1日到29日是29天。总共74天。",
    ),
    ("", "January 15, 2024 to March 29, 2024 is 74 days."),
    ("", "January 15, 2024 - March 29, 2024: 74 days"),
    ("", "2024年1月15日至2024年3月29日，共计74天。"),
    ("How many days are there between January 15, 2024 and March 29, 2024, inclusive of both dates?", "75"),
    ("How many days are there between January 15, 2024 and March 29, 2024 including both days?", "There are 75 days."),
    ("从2024年1月15日到2024年3月29日共多少天（首尾都算）？", "75天"),
    ("How many days are there between January 15, 2024 and March 29, 2024?", "The period has 74 days."),
    (
        "How many days are there between January 15, 2024 and March 29, 2024?",
        "The difference between the two dates is 74 days.",
    ),
    ("How many days are there between January 15, 2024 and March 29, 2024?", "It's exactly 74 days."),
    ("How many days are there between January 15, 2024 and March 29, 2024?", "There are 74 days in this period."),
    (
        "How many days are there between January 15, 2024 and March 29, 2024?",
        "January 15 to January 31: 16 days. February: 29 days. March 1 to March 29: 29 days. Total: 74 days.",
    ),
    ("How many days are there between January 15, 2024 and March 29, 2024?", "16 days. 29 days. 29 days. 74 days."),
    (
        "How many days are there between January 15, 2024 and March 29, 2024?",
        "First, there are 16 days. Then there are 29 days. In total there are 74 days.",
    ),
    (
        "How many days are there between January 15, 2024 and March 29, 2024?",
        "There are 16 days left in January. In total there are 74 days.",
    ),
    (
        "How many days are there between January 15, 2024 and March 29, 2024?",
        "There are 16 days. There are 58 days. In total there are 74 days.",
    ),
    (
        "How many days are there between January 15, 2024 and March 29, 2024?",
        "There are 74 days. It was a warm winter.",
    ),
]

RIGHT_IN_PART = [
    ("", "星期一，2021年5月3日，公司成立。"),
    ("", "On Monday 18 April 1955 he died."),
    ("", "On Monday the 18th of April, 1955 he died."),
    ("", "It is known that April 18, 1955 was a Monday."),
    ("", "The newspaper Sunday, 2 May 2021, printed it."),
    ("", "Einstein died on Monday, April 18, 1955 in Moscow."),
    ("", "爱因斯坦于1955年4月18日（星期一）去世。"),
    ("", "The fair runs from Monday, April 18, 2022 to Friday, April 22, 2022."),
    ("", "On April 18, 1955, a Monday, he died."),
    ("", "He died on April 18, 1955, which was a Monday."),
    ("", "1955-04-18 (Monday): Einstein dies."),
    ("", "2024年5月1日周三放假。"),
    ("", "2024年5月1日星期三下午3点开会。"),
    ("", "2024年5月1日，星期三，晴。"),
    ("", "The fiscal year ends on Saturday, September 30, 2023."),
    ("", "Apollo 11 landed on July 20, 1969, a Sunday."),
    ("", "Pearl Harbor was attacked on Sunday, December 7, 1941."),
    ("", "Friday the 13th of January, 2023 was cold."),
    ("", "Sunday, May 2, 2021 - the race began."),
    ("", "1945年8月15日，星期三，日本投降。"),
    ("", "1949年10月1日是星期六，中华人民共和国成立。"),
    ("", "2021年5月1日周六晚上的比赛延期。"),
]

WRONG = [
    ("", "星期二，2021年5月3日，公司成立。"),
    ("", "1955年4月18日周二。"),
    ("", "On Tuesday 18 April 1955 he died."),
    ("", "18 April 1955 fell on a Friday."),
    ("", "May 1, 2021 is a Saturday and May 2, 2021 is a Monday."),
    ("What weekday was 2021-05-01?", "It was a Sunday."),
    ("2021-05-01是周几？", "周日"),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "That's 76 days."),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "11 weeks and 4 days"),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "5 weeks"),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "one day"),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "1,074 days"),
    ("从2024年1月15日到2024年3月29日一共有多少天？", "两者相差70天。"),
    ("从2024年1月15日到2024年3月29日一共有多少天？", "共74天（含首尾）。"),
    ("从2024年1月15日到2024年3月29日一共有多少天？", "共有73天。"),
    ("计算2024年1月15日至2024年3月29日的天数。", "70天"),
    ("How many days passed between 2024-01-15 and 2024-03-29?", "70 days"),
    ("Calculate the number of days from 15 January 2024 until 29 March 2024.", "71 days"),
    ("", "公司成立于2023年13月1日。"),
    ("", "公司于2023年2月29日成立。"),
    ("", "Einstein died on Tuesday, April 18, 1955 in Princeton."),
    ("", "April 18, 1955 was a Tuesday."),
    ("", "2021年5月1日是星期天。"),
    ("", "1955年4月18日（星期二），爱因斯坦去世。"),
    (
        "How many days are there from 2024-01-15 to 2024-03-29?",
        "January has 31 days. February 2024 has 29 days. So it is 73 days.",
    ),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "There are 73 days."),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "70"),
    ("How many days are there from 2024-01-15 to 2024-03-29, inclusive?", "There are 74 days."),
    ("从2024年1月15日到2024年3月29日，含首尾共多少天？", "共74天。"),
    ("How many weeks are there from 2024-01-15 to 2024-02-08?", "3 weeks and 5 days"),
    ("从2024年1月1日到2024年3月6日一共几周？", "9周5天"),
    ("How many months are there from 2023-01-01 to 2024-01-01?", "11 months"),
    ("When?", "It was on February 30, 2024."),
    ("", "会议于2023年2月30日举行。"),
    ("", "He was born on February 29, 2023."),
    ("2021年5月1日是星期几？", "是星期天。"),
    ("What day of the week was April 18, 1955?", "Tuesday"),
    ("", "From 2020-02-01 to 2020-02-15 there are three weeks."),
    ("", "从2020年2月1日到2020年2月15日共12天。"),
    ("", "2020年2月1日与2020年2月15日相差18天。"),
    ("", "2020年2月15日比2020年2月1日早14天。"),
    ("", "February 15, 2020 is 14 days before February 1, 2020."),
    ("", "14 days after February 1, 2020 is February 16, 2020."),
    ("", "14 days after February 1, 2020 is February 18, 2020."),
    (
        "How many days are there between January 15, 2024 and March 29, 2024?",
        "Between January 15 and March 29, 2024 there are 70 days.",
    ),
    ("How many days are there between January 15, 2024 and March 29, 2024?", "There are seventy days."),
    ("从2024年1月15日到2024年3月29日一共有多少天？", "从2024年1月15日到2024年3月29日一共有70天。"),
    ("", "The fair runs from Monday, April 18, 2022 to Saturday, April 22, 2022."),
    ("", "On April 18, 1955, a Tuesday, he died."),
    ("", "He died on April 18, 1955, which was a Sunday."),
    ("", "2024年5月1日周四放假。"),
    ("", "2024年5月1日，星期二，晴。"),
    ("", "1945年8月15日，星期四，日本投降。"),
    ("", "1949年10月1日是星期日，中华人民共和国成立。"),
    ("", "2021年5月1日周五晚上的比赛延期。"),
    ("", "On April 31, 2022, the company moved."),
    ("", "Since June 31, 2020 he has lived here."),
    ("从2024年1月15日到2024年3月29日共多少天（首尾都算）？", "76天"),
    (
        "How many days are there between January 15, 2024 and March 29, 2024?",
        "January 15 to January 31: 16 days. February: 29 days. March 1 to March 29: 29 days. Total: 72 days.",
    ),
    (
        "How many days are there between January 15, 2024 and March 29, 2024?",
        "There are 70 days. It was a warm winter.",
    ),
]

OPEN = [
    ("", "2021年5月3日周一到5月7日周五放假。"),
    ("", "开放时间：周一至周五，2021年5月1日除外。"),
    ("", "The museum is open Monday to Friday, 1 May 2021 excepted."),
    ("", "Bloody Sunday, 30 January 1972, was in Derry."),
    ("", "Every Monday, from May 1, 2021, the shop closes."),
    ("", "The shop closes on Mondays from May 1, 2021."),
    ("", "The concert is on Saturday or Sunday, May 1, 2021."),
    ("", "He said Monday that the vote of May 1, 2021 stands."),
    ("", "On May 1, 2021, Saturday Night Live aired."),
    ("", "Was April 18, 1955 a Monday?"),
    ("", "Is it true that April 18, 1955 was a Tuesday?"),
    ("", "1955年4月18日是星期二吗？"),
    ("", "2021年5月1日和2021年5月2日是星期天。"),
    ("", "假如2021年5月1日是星期天，就放假。"),
    ("", "2021年5月1日是星期天的说法是错误的。"),
    ("我2021年5月1日出生，今年星期几过生日？", "星期天"),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "It takes 74 days."),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "Working days: 54 days."),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "There are 2 months and 14 days."),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "10 weeks"),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "Not 74 days."),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "It is either 74 or 75 days."),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "Is it 73 days?"),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "up to 74 days"),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "74.5 days"),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "-74 days"),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "70-80 days"),
    ("从2024年1月15日到2024年3月29日一共有多少天？", "大约70天"),
    ("从2024年1月15日到2024年3月29日一共有多少天？", "不是70天"),
    ("从2024年1月15日到2024年3月29日一共有多少天？", "74天，不是73天"),
    ("从2024年1月15日到2024年3月29日一共有多少天？", "至少70天"),
    ("从2024年1月15日到2024年3月29日一共有多少天？", "2个月零14天"),
    ("从2024年1月15日到2024年3月29日一共有多少天？", "共74天，不含首尾"),
    ("2024年1月15日和2024年3月29日中间相隔几天？", "73天"),
    ("他从2024年1月15日到2024年3月29日上班多少天？", "74天"),
    ("从2024年1月15日到2024年3月29日，小明看了多少天书？", "70天"),
    ("How many days did it rain from 2024-01-15 to 2024-03-29?", "70 days"),
    ("How many days of school are there from 2024-01-15 to 2024-03-29?", "54 days"),
    ("How many days is it from 15 January 2024 to 29 March 2024, not counting the last day?", "74 days"),
    ("How many days from 2024-01-15 through 2024-03-29?", "75 days"),
    ("How many days are there from 2023-03-29 to 2023-02-30?", "28 days"),
    ("", "February 30, 2024 is not a real date."),
    ("Is there a February 30, 2024?", "February 30, 2024."),
    ("", "例如2023年2月30日。"),
    ("", "2023年2月30日并不存在。"),
    ("", "输入2023年2月30日会报错。"),
    ("", "藏历2023年2月30日。"),
    ("", "Sweden had a February 30, 1712."),
    ("", "In Sweden, it happened on February 30, 1712."),
    ("", "Invoice 2023-02-30 was paid."),
    ("", "订单号2023-02-30已发货。"),
    ("", "The file v2023.02.30 is here."),
    ("", "See section 2023-13-45."),
    ("从2024年1月15日到2024年3月29日一共有多少天？", "2月有29天。"),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "A week has 7 days."),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "There are 75 days."),
    ("How many days are there from 2024-01-15 to 2024-03-29? Count inclusive.", "There are 75 days."),
    ("从2024年1月15日到2024年3月29日，不含首尾共多少天？", "共73天。"),
    ("How many working days are there from 2024-01-15 to 2024-03-29?", "There are 54 days."),
    ("从2024年1月15日到2024年3月29日有多少个工作日？", "有54天。"),
    ("How many weeks are there from 2024-01-15 to 2024-02-08?", "3 weeks and 4 days"),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "About 10 weeks."),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "More than 70 days."),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "74 days, not 73 days."),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "Over 70 days"),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "At least 70 days."),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "70+ days"),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "超过70天"),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "~70 days"),
    ("How many days are there from 2024-01-15 to 2024-03-29?", "nearly 74 days"),
    ("How many months are there from 2023-01-01 to 2023-12-31?", "12 months"),
    ("", "You may cancel with 30 days' notice between 2024-01-15 and 2024-03-29."),
    ("Tell me about the shop on 2024-03-29.", "It is open Monday to Friday."),
    ("2024年3月29日博物馆开吗？", "每周一闭馆。"),
    ("2024年3月29日", "下周一再来。"),
    ("2024年3月29日", "每周二十小时。"),
    ("2024年3月29日", "当周日均销量100。"),
    ("What day of the week was April 18, 1955?", "It is not Tuesday."),
    ("", '"Ruby Tuesday" was released on 13 January 1967.'),
    ("", "Ruby Tuesday, 13 January 1967, reached number one."),
    ("", "Monday.com went public on June 10, 2021."),
    ("", "The CAS number of water is 7732-18-5."),
    ("", "Unity 2022.3.45f1 was released."),
    ("", "Home Assistant 2023.12.0 is out."),
    ("", "1024 / 16 / 64 = 1."),
    ("", "There is no February 30, 2024."),
    ("", "农历2024年2月30日是他的生日。"),
    ("", "Columbus landed on Friday, October 12, 1492."),
    ("", "2010年12月17日，石垣市宣布將1月14日訂定為「尖閣諸島開拓日」，以紀念1895年1月14日的決定。"),
    ("", "He was born on February 29, 2024."),
    ("", "A date such as February 30, 2024 is rejected."),
    ("", "2024年2月30人参加了会议。"),
    ("What day of the week is 100 days after April 18, 1955?", "It was a Monday."),
    ("2021年5月1日之后100天是星期几？", "星期一"),
    ("", "The Great Fire of London began on Sunday, 2 September 1666."),
    ("", "The Great Fire of London began on Monday, 2 September 1666."),
    ("", "The October Revolution began on Wednesday, October 25, 1917."),
    ("", "George Washington was born on Friday, February 11, 1731."),
    ("", "从2020年2月1日到2020年2月15日共15天。"),
    (
        "How many days are there between January 15, 2024 and March 29, 2024?",
        "From January 15 to January 31 there are 16 days.",
    ),
    ("How many days are there between January 15, 2024 and March 29, 2024?", "74 days (10 weeks and 6 days)."),
    ("从2024年1月15日到2024年3月29日一共有多少天？", "约74天"),
    ("从2024年1月15日到2024年3月29日一共有多少天？", "70多天"),
    ("从2024年1月15日到2024年3月29日一共有多少天？", "不到75天"),
    ("从2024年1月15日到2024年3月29日一共有多少天？", "74天左右"),
    ("从2024年1月15日到2024年3月29日一共有多少天？", "1月15日到1月31日有16天，2月有29天，3月有29天，所以一共有74天。"),
    ("The war lasted from 1914-07-28 to 1918-11-11. How long is that?", "1567 days"),
    ("Einstein was born on March 14, 1879 and died on April 18, 1955. How many days did he live?", "27793 days"),
    ("What is the number of days between D?", "5 days"),
    ("", "The term ran from January 1, 2020 to March 1, 2020; 30 days of it were holidays."),
    ("", "He won on 2020-02-01 and again on 2020-02-15, with 5 days of rest."),
    ("", "Between 2020-02-01 and 2020-02-15 it rained for 5 days."),
    ("", "从2020年2月1日到2020年2月15日，他休息了5天。"),
    ("", "从2020年2月1日到2020年2月15日有5天下雨。"),
    ("", "If April 18, 1955 had been a Tuesday, it would matter."),
    ("", "April 18, 1955 was not a Tuesday."),
    ("", 'He wrote "April 18, 1955 was a Tuesday".'),
    ("", "The day after April 18, 1955 was a Tuesday."),
    ("", "1955年4月18日的第二天是星期二。"),
    ("", "1955年4月18日不是星期二。"),
    ("", "4/3/2020 was a Monday."),
    ("", "He met her Monday, not April 18, 1955."),
    ("", "Since April 18, 1955, Monday has been a holiday."),
    ("", "On April 18, 1955, Tuesday Weld was eleven."),
    ("", "Good Friday, April 14, 1865, was the day."),
    ("", "公司从2024年5月1日起每周三休息。"),
    ("", "2024年5月1日起，周四休息。"),
    ("", "2024年5月1日，周四开放的展馆关闭。"),
    ("", "从2024年5月1日周四不再营业。"),
    ("", "The museum, closed Mondays, reopened on May 1, 2021."),
    ("", "By Monday, 40 of 50 had voted."),
    ("", "On Wednesday 12 people came."),
    ("", "Thursday, 5 pm."),
    ("", "Friday the 13th (1980) is a film."),
    ("", "Posted on Tue, May 4, 2021."),
    ("", "He worked from 2020-01-06 to 2020-01-10, Monday to Friday."),
    ("", "He worked from 2020-01-06 to 2020-01-10, 5 days."),
    ("", "The contract of 2020-01-06 gives 30 days."),
    ("", "The 90 days between January 15, 2024 and March 29, 2024 were cold."),
    ("", "The trip lasted 75 days, from January 15, 2024 to March 29, 2024."),
    ("", "From January 15, 2024 to March 29, 2024 he spent 30 days at sea."),
    ("", "In the 30 days from January 15, 2024 to March 29, 2024 it rained."),
    ("", "Between January 15, 2024 and March 29, 2024, 12 days were lost."),
    ("", "There were 12 days of rain from January 15, 2024 to March 29, 2024."),
    ("", "January 15, 2024 - March 29, 2024 (75 days)"),
    ("", "2024年1月15日至2024年3月29日，为期75天。"),
    ("", "活动时间：2024年1月15日至2024年3月29日，周一休息。"),
    ("", "2024年1月15日至3月29日，每周一至周五开放。"),
    ("", "2024年1月15日星期一至3月29日星期五。"),
    ("", "公历2024年2月10日是农历正月初一，星期六。"),
    ("", "2024年2月10日（星期六）是农历正月初一。"),
    ("", "民国十年10月10日星期一。"),
    ("", "昭和20年8月15日是星期三。"),
    ("", "1949年10月1日，毛泽东宣布中华人民共和国成立。"),
    ("", "她2021年5月1日周岁。"),
    ("", "2021年5月1日六点开会。"),
    ("", "2021年5月1日一周后。"),
    ("", "截至2021年5月1日周边地区。"),
    ("", "2021年5月1日周日均气温。"),
    ("", "版本2021.5.1已发布。"),
    ("", "编号2021-05-01-003。"),
    ("", "ISBN 978-7-5086-1234."),
    ("", "IP 2021.5.1.3"),
    ("", "电话 2021-05-0188"),
    ("", "Call 2023-0230 now."),
    ("", "The paper (doi 10.1000/2023-02-30) is out."),
    ("", 'He said, "on April 31, 2022".'),
    ("", "No one was born on April 31, 2022."),
    ("", "The song 'February 30, 2015' was a hit."),
    (
        "How many days are there between January 15, 2024 and March 29, 2024 including the end date?",
        "There are 74 days.",
    ),
    ("How many business days are there between January 15, 2024 and March 29, 2024?", "There are 54 days."),
    ("How many weekdays are there between January 15, 2024 and March 29, 2024?", "There are 54 days."),
    ("从2024年1月15日到2024年3月29日共多少天（算头不算尾）？", "74天"),
    ("How many days are there between January 15, 2024 and March 29, 2024?", "I think it is 74 days."),
    ("How many days are there between January 15, 2024 and March 29, 2024?", "Roughly 74 days."),
    ("How many days are there between January 15, 2024 and March 29, 2024?", "No idea."),
    ("How many days are there between January 15, 2024 and March 29, 2024?", "There were some 74 days."),
    ("How many days are there between January 15, 2024 and March 29, 2024?", "74 days and 3 hours"),
    ("How many days are there between January 15, 2024 and March 29, 2024?", "Two and a half months."),
    ("How many days are there between January 15, 2024 and March 29, 2024?", "2.5 months"),
    ("How many days are there between January 15, 2024 and March 29, 2024?", "half a year"),
    ("How many days are there between January 15, 2024 and March 29, 2024?", "There are 16 days. It is 58 days more."),
]


def results(question: str, response: str) -> list[ToolResult]:
    """What the tool decides by itself, for each sentence that it is offered for."""
    language = "zh" if any("\u4e00" <= character <= "\u9fff" for character in question + response) else "en"
    sentences = split(response)
    context = ToolContext(question=question, response=response, language=language, sentences=sentences, model=None)  # type: ignore[arg-type]
    offered = [sentence for sentence in sentences if date.when(context, sentence)]
    found = [asyncio.run(date.run(context, sentence)) for sentence in offered]
    return [result for result in found if not result.facts]


@pytest.mark.parametrize(("question", "response"), RIGHT)
def test_what_is_right_is_supported_whole(question: str, response: str) -> None:
    found = results(question, response)
    assert found and all(result.label == "supported" and not result.open for result in found)


@pytest.mark.parametrize(("question", "response"), RIGHT_IN_PART)
def test_what_else_the_sentence_says_stays_open(question: str, response: str) -> None:
    (result,) = results(question, response)
    assert result.label == "supported" and result.open
    checked = [evidence.span for evidence in result.evidence]
    assert not any(span and start <= span[0] < end for span in checked for start, end in result.open)


@pytest.mark.parametrize(("question", "response"), WRONG)
def test_what_is_wrong_is_contradicted(question: str, response: str) -> None:
    assert [result.label for result in results(question, response)] == ["contradicted"]


@pytest.mark.parametrize(("question", "response"), OPEN)
def test_what_can_be_read_in_two_ways_gets_no_label(question: str, response: str) -> None:
    assert {result.label for result in results(question, response)} <= {None}


def test_the_open_parts_of_a_sentence() -> None:
    response = "Einstein died on Monday, April 18, 1955 in Moscow."
    (result,) = results("", response)
    assert [response[start:end] for start, end in result.open] == ["Einstein died on", "in Moscow"]


@pytest.mark.parametrize(
    "part", ["2020-01-01 ", "Monday, April 18, 1955 ", "从2020年1月1日到", "74 days ", "twenty ", "1.", "星期一", "("]
)
def test_long_texts_are_left_alone(part: str) -> None:
    """What is said plainly is short: beyond a limit nothing is read, so that the work does not grow with the text."""
    text = part * 2000
    assert len(text) > date_claims.MAX_LENGTH
    assert date_claims.weekday_claims(text, text, answers=True) == []
    assert date_claims.distance_asked(text) is None
    assert date_claims.distance_claims(text, "", asked=None, answers=True) == []
    assert date_claims.impossible_days(text, "") == []
