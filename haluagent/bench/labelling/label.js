"use strict";
// Text from the data only ever becomes text nodes: nothing here sets markup.
const {digest, items} = JSON.parse(document.getElementById("rows").textContent);
const KINDS = [["Evident Conflict", "conflict"], ["Evident Baseless Info", "baseless"], ["Not Sure", "unsure"]];
const WORDS = {
  en: {
    title: "What is wrong in these responses?", language: "Language", name: "Your name", start: "Start", item: "Item", download: "Download labels",
    intro: "Read each response beside its reference and mark every stretch that is wrong. What you mark stays in this browser until you download it; nothing is sent anywhere.",
    other: "Another person", question: "Question", response: "Response", reference: "Reference", marks: "Marked", none: "Nothing is marked.",
    done: "This item is done", previous: "Previous (p)", next: "Done, next (n)", remove: "Remove", kinds: "Mark the selection", finished: "done",
    conflict: "Contradicts the reference", baseless: "Not in the reference", unsure: "Not sure",
    keys: "Select with the mouse, or with Shift and the arrow keys (Ctrl too: by words). In the response: 1, 2, 3 mark, Backspace removes a mark at the cursor, n says done and goes on, p goes back.",
    select: "Select a stretch of the response first.", unread: "There is no mark here.",
    lost: "This browser keeps nothing for this page: download your labels before you close it.",
    nothing: "No item is done yet: there is nothing to download.",
    count: (done, all) => `${done} of ${all} done`,
    saved: (count, open) => `${count} items were saved.` + (open ? ` ${open} with marks are not done and were left out.` : ""),
    marked: (kind, text) => `${kind}: ${text}`, removed: text => `Removed: ${text}`, removing: text => `Remove the mark: ${text}`,
    last: "This was the last item.",
  },
  zh: {
    title: "这些回答里有什么错误？", language: "语言", name: "您的姓名", start: "开始", item: "条目", download: "下载标注",
    intro: "请对照参考资料阅读每个回答，标出所有错误的片段。标注在下载之前只保存在本浏览器里，不会发送到任何地方。",
    other: "换一个人", question: "问题", response: "回答", reference: "参考资料", marks: "已标注", none: "没有标注。",
    done: "此条目已完成", previous: "上一条（p）", next: "完成，下一条（n）", remove: "删除", kinds: "标注所选片段", finished: "完成",
    conflict: "与参考资料矛盾", baseless: "参考资料里没有", unsure: "不确定",
    keys: "用鼠标选择，或用 Shift 加方向键（再加 Ctrl 则按词）。光标在回答里时：1、2、3 标注，退格键删除光标处的标注，n 表示完成并继续，p 返回。",
    select: "请先在回答里选择一个片段。", unread: "这里没有标注。",
    lost: "本浏览器不为此页面保存内容：关闭之前请下载标注。",
    nothing: "还没有完成的条目，没有可下载的内容。",
    count: (done, all) => `已完成 ${done}/${all}`,
    saved: (count, open) => `已保存 ${count} 条。` + (open ? `另有 ${open} 条有标注但未完成，没有包含在内。` : ""),
    marked: (kind, text) => `${kind}：${text}`, removed: text => `已删除：${text}`, removing: text => `删除标注：${text}`,
    last: "这是最后一条。",
  },
};
const at = id => document.getElementById(id);
const box = at("response");
const KEY = `haluagent-label:${digest}`;
items.forEach((one, number) => { one.number = number; });
let words = WORDS.en, language = "en", person = "", state = null, selection = null;

// What is kept: of each person the place and, by number of the item, the marks in UTF-16 units and whether it is done.
function kept(key) {
  try { return JSON.parse(localStorage.getItem(key)); } catch { return null; }
}
function keep(key, value) {
  try { localStorage.setItem(key, JSON.stringify(value)); } catch { at("warning").hidden = false; }
}
const save = () => keep(`${KEY}:${person}`, state);
const item = () => items[state.at];
const entry = (one = item()) => state.items[one.number] ??= {marks: [], done: false};
const finished = () => items.filter(one => state.items[one.number]?.done);

function make(tag, name, ...children) {
  const element = document.createElement(tag);
  element.className = name;
  element.append(...children);
  return element;
}

const say = text => { at("status").textContent = text; };
const short = mark => item().response.slice(mark.start, mark.end).replace(/\s+/g, " ").slice(0, 80);
const className = kind => KINDS.find(([name]) => name === kind)[1];

// The marked text in the box; its text nodes together are the response, so that places can be counted in them.
function showResponse() {
  const {response} = item(), parts = [];
  let place = 0;
  for (const mark of entry().marks) {
    const element = make("mark", className(mark.kind), response.slice(mark.start, mark.end));
    element.title = words[className(mark.kind)];
    parts.push(response.slice(place, mark.start), element);
    place = mark.end;
  }
  box.replaceChildren(...[...parts, response.slice(place)].filter(part => part !== ""));
  box.lang = item().language;  // Chinese and Japanese share characters: the font depends on the language
}

function showMarks() {
  at("marks").replaceChildren(...entry().marks.map(mark => {
    const button = make("button", "", words.remove);
    button.type = "button";
    button.setAttribute("aria-label", words.removing(short(mark)));
    button.addEventListener("click", () => { removeMarks([mark]); box.focus(); });
    return make("li", "", words.marked(words[className(mark.kind)], short(mark)), button);
  }));
  at("none").hidden = entry().marks.length > 0;
}

function show() {
  document.documentElement.lang = language;
  document.title = words.title;
  for (const element of document.querySelectorAll("[data-say]")) element.textContent = words[element.dataset.say];
  at("warning").textContent = words.lost;
  at("start").hidden = Boolean(person);
  at("work").hidden = !person;
  if (!person) return;
  const done = finished().length;
  at("count").textContent = words.count(done, items.length);
  at("progress").max = items.length;
  at("progress").value = done;
  at("progress").setAttribute("aria-label", words.count(done, items.length));
  at("item").replaceChildren(...items.map((one, number) =>
    new Option(`${number + 1}${state.items[one.number]?.done ? ` · ${words.finished}` : ""}`, number, false, number === state.at)));
  at("asked").hidden = !item().question;
  at("question").textContent = item().question;
  at("references").replaceChildren(...item().reference.flatMap((text, number) => {
    const heading = make("h2", "", words.reference + (item().reference.length > 1 ? ` ${number + 1}` : ""));
    const shown = make("div", "text", text);
    heading.id = `reference-${number}`;
    shown.tabIndex = 0;
    shown.setAttribute("role", "region");
    shown.setAttribute("aria-labelledby", heading.id);
    shown.lang = item().language;
    return [heading, shown];
  }));
  at("kinds").setAttribute("aria-label", words.kinds);
  at("kinds").replaceChildren(...KINDS.map(([kind, name], number) => {
    const button = make("button", name, `${words[name]} (${number + 1})`);
    button.type = "button";
    button.addEventListener("pointerdown", event => event.preventDefault());  // the selection stays
    button.addEventListener("click", () => markSelection(kind));
    return button;
  }));
  at("done").checked = entry().done;
  at("previous").disabled = state.at === 0;
  showResponse();
  showMarks();
}

function offset(node, place) {
  const before = document.createRange();
  before.setStart(box, 0);
  before.setEnd(node, place);
  return before.toString().length;
}

function select(place) {
  let left = place;
  const nodes = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
    if (left <= node.length) return getSelection().collapse(node, left);
    left -= node.length;
  }
}

function remember() {
  const found = getSelection();
  if (!person || !found.rangeCount || !found.getRangeAt(0).intersectsNode(box)) return;
  const range = found.getRangeAt(0), inside = node => box.contains(node);
  if (!inside(range.startContainer) && !inside(range.endContainer)) return;
  selection = [  // a third click selects up to what follows the box
    inside(range.startContainer) ? offset(range.startContainer, range.startOffset) : 0,
    inside(range.endContainer) ? offset(range.endContainer, range.endOffset) : item().response.length];
}

document.addEventListener("selectionchange", remember);

function change(marks, message, place) {
  entry().marks = marks.sort((one, other) => one.start - other.start);
  save();
  showResponse();
  showMarks();
  if (place !== undefined && document.activeElement === box) select(place);
  say(message);
}

function markSelection(kind) {
  remember();  // the event comes later than a quick key
  const {response} = item();
  let [start, end] = selection ?? [0, 0];
  while (start < end && /\s/.test(response[start])) start++;
  while (end > start && /\s/.test(response[end - 1])) end--;
  if (start === end) return say(words.select);
  const mark = {start, end, kind};  // it replaces the marks that it overlaps
  const others = entry().marks.filter(one => one.end <= start || one.start >= end);
  change([...others, mark], words.marked(words[className(kind)], short(mark)), end);
}

function removeMarks(gone) {
  if (!gone.length) return say(words.unread);
  change(entry().marks.filter(one => !gone.includes(one)), words.removed(gone.map(short).join("; ")), gone[0].start);
}

function go(number) {
  if (number < 0 || number >= items.length) return;
  const inBox = document.activeElement === box;
  state.at = number;
  selection = null;
  save();
  say("");
  show();
  box.scrollTop = 0;
  if (inBox) {
    box.focus();
    select(0);
  }
}

function finish() {
  entry().done = true;
  save();
  if (state.at + 1 < items.length) return go(state.at + 1);
  show();
  say(words.last);
}

const KEYS = {n: finish, p: () => go(state.at - 1)};
KINDS.forEach(([kind], number) => { KEYS[number + 1] = () => markSelection(kind); });
KEYS.Backspace = KEYS.Delete = () => {
  remember();
  const [start, end] = selection ?? [0, 0];
  removeMarks(entry().marks.filter(one => one.start <= end && one.end >= start && (start === end || (one.start < end && one.end > start))));
};

// The box can be edited only so that it has a cursor: whatever would change its text is stopped, or undone.
box.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
  event.preventDefault();
  KEYS[event.key]();
});
for (const name of ["beforeinput", "paste", "cut", "drop", "dragstart"]) box.addEventListener(name, event => event.preventDefault());
box.addEventListener("compositionend", () => setTimeout(showResponse));
box.addEventListener("input", event => { if (!event.isComposing) showResponse(); });

// Places count characters as Python does, not UTF-16 units.
function line(one) {
  const characters = place => Array.from(one.response.slice(0, place)).length;
  return JSON.stringify({
    id: one.id, annotator: person, language: one.language, question: one.question, reference: one.reference, response: one.response,
    labels: entry(one).marks.map(({start, end, kind}) =>
      ({start: characters(start), end: characters(end), text: one.response.slice(start, end), label_type: kind})),
  }) + "\n";
}

at("download").addEventListener("click", () => {
  const done = finished();
  if (!done.length) return say(words.nothing);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(done.map(line), {type: "application/jsonl"}));
  link.download = `labels-${person.replace(/[^\p{L}\p{N}]+/gu, "-")}.jsonl`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  say(words.saved(done.length, items.filter(one => !done.includes(one) && state.items[one.number]?.marks.length).length));
});

function begin(name) {
  person = name;
  state = kept(`${KEY}:${person}`) ?? {at: 0, items: {}};
  keep(KEY, {person, language});
  show();
}

at("start").addEventListener("submit", event => {
  event.preventDefault();
  const name = at("name").value.trim();
  if (!name) return;
  begin(name);
  box.focus();
});
at("other").addEventListener("click", () => {
  person = "";
  keep(KEY, {person, language});
  show();
  at("name").value = "";
  at("name").focus();
});
at("language").addEventListener("change", event => {
  language = event.target.value;
  words = WORDS[language];
  keep(KEY, {person, language});
  say("");
  show();
});
at("item").addEventListener("change", event => go(Number(event.target.value)));
at("done").addEventListener("change", event => { entry().done = event.target.checked; save(); show(); });
at("previous").addEventListener("click", () => go(state.at - 1));
at("next").addEventListener("click", finish);

addEventListener("storage", event => {  // the page is open twice
  if (!person || event.key !== `${KEY}:${person}` || !event.newValue) return;
  state = {...JSON.parse(event.newValue), at: state.at};
  show();
});

const before = kept(KEY) ?? {person: "", language: navigator.language.startsWith("zh") ? "zh" : "en"};
language = before.language;
words = WORDS[language];
at("language").value = language;
keep(KEY, before);  // says at once if nothing can be kept
if (before.person) begin(before.person); else show();
