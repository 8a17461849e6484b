// What “Try an example” fills in.

// One sentence of each is wrong: the year in which the lamp was first lit.
export const EXAMPLES = {
  en: {
    question: "What should I know before visiting the lighthouse at Varn Point?",
    response: "The lighthouse at Varn Point stands on a granite cliff. It was first lit in 1912, and its lamp can be seen from 24 nautical miles away. Visitors climb 186 steps to the gallery. A ticket costs 4 crowns. Enjoy the view!",
    reference: "Varn Point Lighthouse\n\nThe tower stands on the granite cliff at the mouth of the Varn. Building began in 1884 and the lamp was first lit on 3 May 1887. The light is visible for 24 nautical miles in clear weather.\n\nVisiting: the gallery is reached by a spiral stair of 186 steps. Open from April to October. Tickets cost 4 crowns a person. 参观者须自备饮用水。",
  },
  zh: {
    question: "参观瓦恩角灯塔之前应该知道些什么？",
    response: "瓦恩角灯塔建在花岗岩悬崖上。它于1912年首次点亮，灯光在24海里外可见。游客需登上186级台阶才能到达观景台。门票每人4克朗。祝您玩得愉快！",
    reference: "瓦恩角灯塔 (Varn Point Lighthouse)\n\n灯塔矗立在瓦恩河口的花岗岩悬崖上。1884年动工，1887年5月3日首次点亮。天气晴朗时，灯光在24海里外可见。\n\n参观须知：经186级螺旋台阶可到达观景台。每年四月至十月开放，门票每人4克朗。Visitors should bring drinking water.",
  },
};

const run = (system, asked, look, answer) => JSON.stringify({
  run_id: "refund-1", system,
  tools: [
    { name: "get_order", parameters: { type: "object", properties: { order_id: { type: "string" } }, required: ["order_id"] } },
    { name: "create_refund", parameters: { type: "object", properties: { order_id: { type: "string" }, amount: { type: "number" } }, required: ["order_id", "amount"] } },
  ],
  turns: [
    { role: "user", text: asked },
    { role: "assistant", text: look, calls: [{ id: "call-1", tool: "get_order", arguments: { order_id: "DD-20933" }, result: '{"order_id": "DD-20933", "amount": 128.5}' }] },
    { role: "assistant", calls: [{ id: "call-2", tool: "create_refund", arguments: { order_id: "DD-20993", amount: 128.5 }, result: '{"status": "accepted"}' }] },
  ],
  answer,
}, null, 2);

// The second call has an order number that comes from nowhere.
export const RUNS = {
  en: run("You work for a shop.", "The kettle of my order DD-20933 is broken. Please refund it.", "Let me look at the order.", "The refund of 128.5 for order DD-20993 was accepted."),
  zh: run("你是网店的客服助手。", "我的订单 DD-20933 里的水壶坏了，请给我退款。", "我先查一下订单。", "订单 DD-20993 的退款128.5元已经受理。"),
};
