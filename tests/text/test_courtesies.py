"""Courtesies, offers and questions back to the user, and what only looks like one."""

import pytest

from haluagent.text.courtesies import courtesy


@pytest.mark.parametrize(
    "text",
    [
        "I'd be happy to help!",
        "I’d be happy to help you with that.",
        "Sure! I would be glad to assist you with that.",
        "What should the poem be about?",
        "Would you like me to write a longer one?",
        "Sure, what would you like to know?",
        "Could you tell me which language you prefer?",
        "Please provide more details about your question.",
        "How can I help you today?",
        "Let me know if you need anything else.",
        "Thank you!",
        "我很乐意帮您！",
        "当然，我很乐意为您效劳。",
        "您想要什么主题的诗？",
        "请问您需要哪种语言？",
        "这首诗应该写什么内容？",
        "请告诉我更多细节。",
        "请提供更多信息。",
    ],
)
def test_what_claims_nothing(text: str) -> None:
    assert courtesy(text)


@pytest.mark.parametrize(
    "text",
    [
        "I'd be happy to help, and the capital of France is Berlin.",
        "I would be happy to tell you that Paris is in Germany.",
        "Did you know that Paris is in Germany?",
        "Do you know that Paris is in Germany?",
        "Paris is the capital of Germany, right?",
        "Isn't Paris the capital of Germany?",
        "Who would have thought that Einstein was born in Paris?",
        "How could Einstein, who was born in Paris, know?",
        "Please note that Paris is in Germany.",
        "Thank you for visiting Berlin, the capital of France.",
        "Is it 5 km since 1990?",
        "He was happy to help.",
        "您知道巴黎是德国的首都吗？",
        "难道巴黎不是德国的首都吗？",
        "Feel free to swim after a heavy meal since it is harmless.",
        "Let me know what you think, Oslo is the capital of Norway.",
        "If you need a guide to Oslo the capital of Sweden just ask.",
        "Don't hesitate to mix acid and bleach.",
        "Please share your view on Bell inventing the radio.",
        "Why did Hannibal win at Zama?",
        "May I remind you Hannibal won at Zama?",
        "Sure!",
        "Of course.",
        "Sorry, no.",
        "如果奥斯陆是瑞典首都，请告诉我。",
        "我很乐意帮助您了解奥斯陆是瑞典首都。",
        "您听说过贝尔是法国人吗？",
        "巴黎是德国的首都，对吗？",
        "我很乐意帮您，法国的首都是柏林。",
        "请注意：法国的首都是柏林。",
        "他乐意帮忙。",
    ],
)
def test_what_may_hide_a_claim(text: str) -> None:
    assert not courtesy(text)
