// The words of the interface. Those of the printed report come from the program itself.
import { CLAIMS, LABELS, MARKS, STOPS, WORDS } from "/page/report_words.js";

const OWN = {
  en: {
    other: "中文", other_label: "切换到中文",
    skip: "Skip to the content", navigation: "Settings", recent: "Recent checks",
    title: "What in this answer is made up?",
    lead: "Paste what a language model wrote. Each sentence is checked on its own, and you see what speaks for it or against it.",
    question: "Question", response: "Response", reference: "Reference", optional: "optional",
    question_hint: "What was asked", response_hint: "The text to check", reference_hint: "What the response should agree with. Without it, tools are used: calculation, dates, code, search.",
    open_file: "Open file…", drop_hint: "You can also drop a .txt, .md or .json file here.",
    check: "Check", example: "Try an example", clear: "Clear",
    stop: "Stop", again: "New check", filter: "Show only", all: "All",
    keys: "Select a sentence to see why. Arrow keys go from one to the next, Escape closes.",
    details: "Details", close: "Close", cancel: "Cancel", overview: "Overview", not_yet: "Score, cost and the whole report appear here when the check is done. Select a sentence to follow its check.", sentence: "Sentence {n}",
    waiting: "waiting", checking: "checking…", unchecked: "not checked",
    confidence: "Confidence {percent} %", evidence: "Evidence", steps: "How it was checked", no_steps: "No tool was needed.",
    reason_title: "Why", thought: "Thought", action: "Action", observation: "Observation", failed: "Failed", refused: "Refused",
    similarity: "score {score:.2f}", via: "found by {tool}", show_in: "Show in the {text}",
    in_response: "response", in_question: "question", in_reference: "reference",
    found_title: "Hallucination found", not_found_title: "No hallucination found", unknown_title: "Not verified",
    running_title: "Checking…", stopped_title: "Stopped", failed_title: "Not finished",
    score_title: "Probability that something is wrong", coverage_title: "Read of the texts", cost_title: "Cost", whole_title: "The response as a whole",
    share: "response {response} %, reference {reference} %", share_response: "response {response} %",
    not_whole: "The {text} was too long to be read whole: what was not read may matter.",
    export_json: "Save JSON", export_html: "Save report", export_labels: "Save my labels ({n})",
    label_title: "Is this right?", label_hint: "Say what the reference says of this sentence. Your labels are kept in this browser, where “Delete all” under “Recent checks” removes them. Saved, they can calibrate the detector.",
    report_title: "Hallucination report",
    queue: "Waiting for a free place: {n} ahead of you.", queue_next: "Waiting for a free place: you are next.",
    progress: "{done} of {n} sentences checked.", progress_wrong: "{done} of {n} sentences checked, {wrong} contradicted.",
    recent_private: "Kept in this browser only. They never leave it.", recent_none: "Nothing yet.",
    delete_one: "Delete", delete_all: "Delete all",
    footer: "What you paste goes to this server and nowhere else; recent checks stay in this browser.",
    token_title: "This server asks for a token", token_why: "Whoever runs it can give you one. It is kept until this tab is closed.",
    token: "Token", token_use: "Continue", token_wrong: "The server does not accept this token. Is it complete?",
    error_empty: "There is nothing to check yet: fill in the response.",
    error_file: "{name} is not UTF-8 text.", error_json: "{name} is not a JSON object with a \"response\" in which everything is text.",
    error_busy: "The server has too much to do. Try again in {after} seconds.",
    error_network: "The server cannot be reached. Is it still running?",
    error_broken: "The connection broke off before the check was finished.",
    error_model: "The model could not be reached or failed: {message}",
    error_invalid: "The server cannot use this: {message}",
    error_too_large: "The texts are too long for this server: {message}",
    error_deadline: "It took longer than this server allows.",
    error_stopping: "The server is being stopped. Try again when it is back.",
    error_not_ready: "The server is not ready yet: {message}",
    error_no_token: "Nothing was checked: this server asks for a token, and none was given.",
    error_internal: "Something went wrong in the server; its log says what.",
    error_other: "The server refused: {message}",
    error_stopped: "Stopped. What was not reached is not checked.",
    error_page: "Something went wrong in this page; the browser's console says what.",
    error_quota: "The browser has no room to keep this.",
  },
  zh: {
    other: "English", other_label: "Switch to English",
    skip: "跳到正文", navigation: "设置", recent: "最近的核查",
    title: "这个回答里，哪些是编造的？",
    lead: "粘贴语言模型写的文字。每一句都会单独核查，并显示支持或反驳它的依据。",
    question: "问题", response: "回答", reference: "参考资料", optional: "可选",
    question_hint: "当时问了什么", response_hint: "要核查的文字", reference_hint: "回答应当与之相符的资料。没有资料时使用工具：计算、日期、代码、搜索。",
    open_file: "打开文件……", drop_hint: "也可以把 .txt、.md 或 .json 文件拖到这里。",
    check: "核查", example: "试试示例", clear: "清空",
    stop: "停止", again: "新的核查", filter: "只显示", all: "全部",
    keys: "选择一句查看原因。方向键在句子间移动，Esc 关闭。",
    details: "详情", close: "关闭", cancel: "取消", overview: "概览", not_yet: "核查完成后，这里会显示得分、开销和完整报告。选择一句可查看其核查过程。", sentence: "第 {n} 句",
    waiting: "等待中", checking: "核查中……", unchecked: "未核查",
    confidence: "置信度 {percent} %", evidence: "依据", steps: "核查过程", no_steps: "无需使用工具。",
    reason_title: "原因", thought: "思考", action: "行为", observation: "观察", failed: "失败", refused: "已拒绝",
    similarity: "得分 {score:.2f}", via: "由 {tool} 找到", show_in: "在{text}中查看",
    in_response: "回答", in_question: "问题", in_reference: "参考资料",
    found_title: "发现幻觉", not_found_title: "未发现幻觉", unknown_title: "未能核实",
    running_title: "正在核查……", stopped_title: "已停止", failed_title: "未完成",
    score_title: "存在错误的概率", coverage_title: "已读比例", cost_title: "开销", whole_title: "整个回答",
    share: "回答 {response} %，参考资料 {reference} %", share_response: "回答 {response} %",
    not_whole: "{text}过长，没有读完：未读的部分可能很重要。",
    export_json: "保存 JSON", export_html: "保存报告", export_labels: "保存我的标签（{n}）",
    label_title: "判断得对吗？", label_hint: "请指出参考资料对这句话怎么说。您的标签只保存在这个浏览器中，在“最近的核查”里点“全部删除”即可移除；保存成文件后可用来校准检测器。",
    report_title: "幻觉核查报告",
    queue: "正在排队：前面还有 {n} 个。", queue_next: "正在排队：下一个就是您。",
    progress: "已核查 {done}/{n} 句。", progress_wrong: "已核查 {done}/{n} 句，其中 {wrong} 句与依据矛盾。",
    recent_private: "只保存在这个浏览器中，绝不会离开它。", recent_none: "还没有记录。",
    delete_one: "删除", delete_all: "全部删除",
    footer: "粘贴的文字只会发送到这台服务器；最近的核查只留在这个浏览器中。",
    token_title: "这台服务器需要令牌", token_why: "请向服务器的管理者索取。令牌只保留到关闭此标签页为止。",
    token: "令牌", token_use: "继续", token_wrong: "服务器不接受这个令牌。它完整吗？",
    error_empty: "还没有可核查的内容：请填写回答。",
    error_file: "{name} 不是 UTF-8 文本。", error_json: "{name} 不是含有 “response” 且内容均为文本的 JSON 对象。",
    error_busy: "服务器太忙，请在 {after} 秒后重试。",
    error_network: "无法连接服务器。它还在运行吗？",
    error_broken: "核查尚未完成，连接就中断了。",
    error_model: "无法连接模型，或模型出错：{message}",
    error_invalid: "服务器无法处理这些内容：{message}",
    error_too_large: "文字超出了这台服务器的限制：{message}",
    error_deadline: "用时超过了这台服务器的限制。",
    error_stopping: "服务器正在停止，请在它恢复后重试。",
    error_not_ready: "服务器尚未就绪：{message}",
    error_no_token: "没有核查：这台服务器需要令牌，但未提供。",
    error_internal: "服务器内部出错，详情见其日志。",
    error_other: "服务器拒绝了请求：{message}",
    error_stopped: "已停止。尚未处理的句子没有核查。",
    error_page: "页面内部出错，详情见浏览器控制台。",
    error_quota: "浏览器没有空间保存。",
  },
};

const KEY = "haluagent.language";
let language = stored() ?? (navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en");

function stored() {
  try {
    const name = localStorage.getItem(KEY);
    return Object.hasOwn(OWN, name) ? name : null;
  } catch {
    return null;
  }
}

export const current = () => language;

export function switchLanguage() {
  language = language === "en" ? "zh" : "en";
  try {
    localStorage.setItem(KEY, language);
  } catch {
    // It holds for this page then.
  }
}

/** A text of the page in the language of the interface, with {name} and {name:.2f} filled in. */
export const t = (key, values = {}) => fill(OWN[language][key], values);

/** The same of the printed report's words. */
export const reported = (key, values = {}) => fill(WORDS[language][key], values);

export const stopText = (stop) => STOPS[language][stop];
export const claims = (n) => CLAIMS[language][n === 1 ? 0 : 1];
export const LABEL_NAMES = Object.keys(MARKS);

/** How a state is told apart without colour: a sign and a word. */
export function sign(state) {
  return MARKS[state] ?? { waiting: "○", checking: "◐", unchecked: "–" }[state];
}
export const word = (state) => LABELS[language][state] ?? t(state);

function fill(text, values) {
  return text.replace(/\{(\w+)(?::\.(\d)f)?\}/g, (_, name, digits) => (digits ? values[name].toFixed(Number(digits)) : values[name]));
}

/** Fills in the texts of what is in the document already. */
export function translate() {
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  for (const element of document.querySelectorAll("[data-text]")) element.textContent = t(element.dataset.text);
  for (const element of document.querySelectorAll("[data-label]")) element.setAttribute("aria-label", t(element.dataset.label));
  for (const element of document.querySelectorAll("[data-placeholder]")) element.placeholder = t(element.dataset.placeholder);
}
