// What is known of one check so far: made of the events as they come, or of a finished report.

export class Check {
  #sorted = null; // the sentences, until another one comes

  /** `texts` are question, response and reference, "" for what is not given. */
  constructor(texts) {
    this.texts = texts;
    this.units = new Map(); // by index: {sentence, state, name, entry, doing}; `name` is that of the label that is shown; 0 is the response as a whole
    this.steps = [];
    this.detection = null;
    this.before = null; // how many wait in front of this one, while it waits
    this.running = true;
  }

  static of(detection, reference) {
    const check = new Check({ question: detection.question, response: detection.response, reference });
    check.apply({ kind: "answer", detection });
    return check;
  }

  apply(event) {
    this.before = event.kind === "waiting" ? event.before : null;
    if (event.kind === "sentence") this.#unit(event.sentence);
    else if (event.kind === "thought") this.#doing(event.sentence, { thought: event.text });
    else if (event.kind === "action") this.#doing(event.sentence, { call: event.call });
    else if (event.kind === "observation") {
      this.steps.push(event.step);
      this.#doing(event.sentence, null);
    } else if (event.kind === "verdict" || event.kind === "revision") this.#judged(event.entry);
    else if (event.kind === "answer") this.#answered(event.detection);
  }

  /** The sentences in the order of the text, without the whole response. */
  get sentences() {
    this.#sorted ??= [...this.units.values()].filter((unit) => unit.sentence.index > 0).sort((a, b) => a.sentence.span[0] - b.sentence.span[0]);
    return this.#sorted;
  }

  get judged() {
    return [...this.units.values()].filter((unit) => unit.entry);
  }

  count(name) {
    return this.judged.filter((unit) => unit.name === name).length;
  }

  stepsOf(index) {
    return this.steps.filter((step) => step.sentence === index);
  }

  #unit(sentence) {
    const known = this.units.get(sentence.index);
    if (known) return known;
    const unit = { sentence, state: "waiting", entry: null, doing: null };
    this.units.set(sentence.index, unit);
    this.#sorted = null;
    return unit;
  }

  #doing(index, part) {
    const unit = this.units.get(index);
    if (!unit) return;
    if (!unit.entry) unit.state = "checking";
    unit.doing = part && { ...unit.doing, ...part };
  }

  #judged(entry) {
    const unit = this.#unit(entry.sentence);
    if (String(unit.sentence.span) !== String(entry.sentence.span)) this.#sorted = null;
    Object.assign(unit, { sentence: entry.sentence, state: entry.label, name: entry.reason_code ?? entry.label, entry, doing: null });
  }

  #answered(detection) {
    this.detection = detection;
    this.running = false;
    this.steps = detection.steps;
    for (const entry of detection.sentences) this.#judged(entry);
    for (const unit of this.units.values()) if (!unit.entry) Object.assign(unit, { state: "unchecked", doing: null });
  }

  /** It ended without an answer. */
  end() {
    this.running = false;
    for (const unit of this.units.values()) if (!unit.entry) Object.assign(unit, { state: "unchecked", doing: null });
  }
}
