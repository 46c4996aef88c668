// What may be done with the service here, by who looks.
import {element, shown} from "./base.js";
import {ask, order, Refused} from "./data.js";
import {planTree} from "./planned.js";
import {isEnded} from "./studies.js";

const sentence = why => why.message.replace(/^\w+: /, "");

/** @param done is called when something was done */
export function actions(done) {
  let who = {role: "viewer"};
  const waiting = [];
  ask("api/me").then(found => {
    who = found;
    for (const hear of waiting.splice(0)) hear();
  }, () => {}); // then there is nothing to be done
  /** Shows a node once it is known that who looks may use it. */
  const forOperators = node => {
    const hear = () => { node.hidden = who.role !== "operator"; };
    node.hidden = true;
    if (who.role === "operator") hear();
    else waiting.push(hear);
    return node;
  };

  const dialogs = element("div");
  document.body.append(dialogs);
  /** Asks for a yes. */
  function confirm(question, yes) {
    return new Promise(answer => {
      const dialog = element("dialog", {"aria-label": question},
        element("p", {}, question));
      const end = said => {
        dialog.close();
        dialog.remove();
        answer(said);
      };
      const ok = element("button", {type: "button", class: "main"}, yes);
      const no = element("button", {type: "button"}, "Back");
      ok.addEventListener("click", () => end(true));
      no.addEventListener("click", () => end(false));
      dialog.addEventListener("cancel", () => end(false));
      dialog.append(element("p", {class: "tools"}, ok, no));
      dialogs.append(dialog);
      dialog.showModal();
    });
  }

  /** Orders something of a study, and says in `said` how that went.
   * @param tell(answer) the words for what was done
   * @returns whether it was done */
  async function run(said, id, verb, more = {}, tell = () => "done") {
    said.textContent = "…";
    try {
      said.textContent = tell(await order(`api/studies/${id}/${verb}`, more));
      done();
      return true;
    } catch (why) {
      if (!(why instanceof Refused) && why.name !== "TypeError") throw why;
      said.textContent = why instanceof Refused ? sentence(why)
        : "the service does not answer";
      return false;
    }
  }

  /** A form for a study's note and tags, and for trials that are hidden.
   * @param give(verb, more) orders it; @returns whether it was done */
  function wordsForm(give) {
    let study = null, isChanged = false;
    const note = element("textarea", {rows: 3});
    const tags = element("input", {type: "text", placeholder: "paper, 2026"});
    const save = element("button", {type: "button"}, "Save");
    const no = element("input", {type: "number", min: 0, step: 1,
      class: "narrow"});
    const again = element("button", {type: "button"}, "Show again");
    for (const field of [note, tags])
      field.addEventListener("input", () => { isChanged = true; });
    save.addEventListener("click", async () => {
      const wanted = tags.value.split(",").map(x => x.trim()).filter(Boolean);
      isChanged = !await give("note", {note: note.value,
        add_tags: wanted.filter(x => !study.tags.includes(x)),
        remove_tags: study.tags.filter(x => !wanted.includes(x))});
    });
    again.addEventListener("click", () => give("restore",
      {trials: [Number(no.value)]}));
    const node = element("details", {}, element("summary", {},
      "Note, tags, hidden trials"), element("label", {class: "quiet"}, "note",
      note),
    element("div", {class: "tools"}, element("label", {}, "tags ", tags), save,
      element("label", {}, "hidden trial ", no), again));
    return {node, show(of) {
      study = of;
      if (isChanged) return;
      note.value = study.note ?? "";
      tags.value = study.tags.join(", ");
    }};
  }

  /** Returns words for the effects of a new space. */
  function effects({changes, replaced, learned, outside}) {
    return [...changes.map(x => x.before === null ? `${x.name} is new`
      : x.after === null ? `${x.name} is dropped`
        : `${x.name}: ${x.before} → ${x.after}`),
    `${replaced} trials not begun are drawn anew`,
    `of those begun, ${learned} lie in it, ${outside} do not`].join("; ");
  }

  /** A form for another space of a study.
   * @param said where its effects are told
   * @param give as of `run`, without the study */
  function spaceForm(said, give) {
    const space = element("textarea", {rows: 3, spellcheck: "false",
      placeholder: "{\"lr\": {\"log_uniform\": [0.001, 0.1]}}"});
    const set = isDry => {
      let wanted = null;
      try {
        wanted = JSON.parse(space.value);
      } catch {
        said.textContent = "a space is a map in JSON, such as "
          + space.placeholder;
        return;
      }
      give("set_space", {space: wanted, dry_run: isDry},
        answer => effects(answer.space));
    };
    const buttons = [["Tell the effects", true], ["Set the space", false]].map(
      ([name, isDry]) => {
        const button = element("button", {type: "button"}, name);
        button.addEventListener("click", () => set(isDry));
        return button;
      });
    return element("details", {}, element("summary", {}, "Another space"),
      element("label", {class: "quiet"}, "space of trials that have not begun",
        space), element("div", {class: "tools"}, ...buttons));
  }

  // One bar for the study that is shown: it must not be made anew under a
  // hand that writes into it.
  let bar = null, shownStudy = null;
  const verbs = [
    ["pause", "Pause", s => s.state === "RUNNING"],
    ["resume", "Resume", s => s.state === "PAUSED"],
    ["stop", "Stop", s => ["RUNNING", "PAUSED"].includes(s.state),
      "What runs is finished, then the study ends."],
    ["cancel", "Cancel", s => !isEnded(s),
      "The study ends now; what is being trained for it is lost."],
    ["retry", "Retry failed trials", s => s.state !== "CANCELLED"],
    ["remove", "Hide study", s => isEnded(s) && !s.removed,
      "It is not listed any more; nothing is deleted."],
    ["restore", "Show study again", s => s.removed],
  ];
  function makeBar() {
    const said = element("span", {role: "status"});
    const give = (verb, ...more) => run(said, shownStudy.id, verb, ...more);
    const buttons = verbs.map(([verb, name, , warning]) => {
      const button = element("button", {type: "button"}, name);
      button.addEventListener("click", async () => {
        if (!warning || await confirm(`${name} ${shownStudy.name}? ${warning}`,
          name)) give(verb);
      });
      return button;
    });
    const weight = element("input", {type: "number", min: .001, step: "any",
      class: "narrow"});
    const set = element("button", {type: "button"}, "Set");
    set.addEventListener("click", () => give("weight",
      {weight: Number(weight.value)}));
    const more = element("input", {type: "number", min: 1, step: 1,
      value: 10, class: "narrow"});
    const add = element("button", {type: "button"}, "Add");
    add.addEventListener("click", () => give("extend",
      {trials: Number(more.value)}));
    const steps = element("input", {type: "number", min: 1, step: 1,
      placeholder: "steps", class: "narrow"});
    const lengthen = element("button", {type: "button"}, "Lengthen");
    lengthen.addEventListener("click", () => give("extend",
      {steps: Number(steps.value)}));
    const words = wordsForm(give);
    const space = spaceForm(said, give);
    const node = forOperators(element("div", {}, element("div",
      {class: "tools", role: "group",
        "aria-label": "What to do with the study"}, ...buttons,
      element("label", {}, "weight ", weight), set,
      element("label", {}, "more trials ", more), add,
      element("label", {}, "length of trials ", steps), lengthen, said),
    space, words.node));
    return {id: shownStudy.id, node, show(study) {
      shownStudy = study;
      verbs.forEach(([, , may], i) => { buttons[i].hidden = !may(study); });
      words.show(study);
      set.hidden = weight.parentElement.hidden = isEnded(study);
      const mayHaveMore = ["RUNNING", "PAUSED", "COMPLETE"]
        .includes(study.state);
      for (const x of [add, more.parentElement, lengthen, steps.parentElement,
        space])
        x.hidden = !mayHaveMore;
      if (document.activeElement !== weight && !weight.dataset.set) {
        weight.value = study.weight;
        weight.dataset.set = "1";
      }
    }};
  }

  return {
    /** What can be done with a study. */
    ofStudy(study) {
      shownStudy = study;
      if (bar?.id !== study.id) bar = makeBar();
      bar.show(study);
      return bar.node;
    },

    /** A place to let a trial go on in another way from one of its steps, or
     * to hide it. */
    ofTrial(id, no) {
      const at = element("input", {type: "number", min: 1, step: 1,
        class: "narrow"});
      const params = element("input", {type: "text", spellcheck: "false",
        placeholder: "{\"lr\": 0.01}"});
      const button = element("button", {type: "button"}, "Fork");
      const said = element("span", {role: "status"});
      const hide = element("button", {type: "button", hidden: true},
        "Hide trial");
      hide.addEventListener("click", async () => {
        if (await confirm(`Hide trial ${no}? It is not listed any more, and `
          + "samplers do not learn from it; the study's page shows it again.",
        "Hide trial") && await run(said, id, "remove", {trials: [no]}))
          location.hash = `#/study/${id}`;
      });
      button.addEventListener("click", () => {
        let values = null;
        try {
          values = JSON.parse(params.value);
        } catch {
          said.textContent = "the values are a map in JSON, such as "
            + params.placeholder;
          return;
        }
        run(said, id, "enqueue",
          {forks: [{trial: no, at: Number(at.value), params: values}]});
      });
      const node = forOperators(element("div", {class: "tools", role: "group",
        "aria-label": "A new trial that goes on from this one"},
      element("label", {}, "from step ", at),
      element("label", {}, "with ", params), button, hide, said));
      return {node, show(trial) {
        hide.hidden = !["COMPLETE", "PRUNED", "FAILED", "CANCELLED"].includes(
          trial.state);
        if (document.activeElement !== at && !at.value
          && trial.delivered_steps > 1)
          at.value = Math.floor(trial.delivered_steps / 2);
      }};
    },

    /** A place for a study file: looked at first, then submitted. */
    toSubmit() {
      const text = element("textarea", {rows: 12, spellcheck: "false",
        "aria-label": "Study file"});
      const file = element("input", {type: "file", accept: ".yaml,.yml,.json",
        "aria-label": "Choose a study file"});
      const said = element("pre", {role: "status", hidden: true,
        tabindex: "0"});
      const tree = planTree();
      tree.node.hidden = true;
      const look = element("button", {type: "button"}, "Preview");
      const submit = element("button", {type: "button", class: "main",
        disabled: true}, "Submit");
      const tell = words => {
        said.hidden = !words;
        said.textContent = words;
      };
      file.addEventListener("change", async () => {
        text.value = await file.files[0]?.text() ?? "";
        submit.disabled = true;
      });
      text.addEventListener("input", () => { submit.disabled = true; });
      const run = async (path, then) => {
        tell("…");
        tree.node.hidden = true;
        try {
          then(await order(path, {text: text.value,
            name: file.files[0]?.name ?? "page.yaml"}));
        } catch (why) {
          submit.disabled = true;
          tell(why instanceof Refused ? sentence(why)
            : "the service does not answer");
        }
      };
      look.addEventListener("click", () => run("api/preview", found => {
        tell(Object.entries({...found, ...found.studies[0]})
          .filter(([, x]) => typeof x !== "object")
          .map(([name, x]) => `${name.replaceAll("_", " ")}: ${shown(x)}`)
          .join("\n"));
        tree.node.hidden = !found.tree;
        if (found.tree) tree.set(found.tree);
        submit.disabled = false;
      }));
      submit.addEventListener("click", () => run("api/studies", found => {
        tell([...found.warnings, ...found.notes].join("\n"));
        location.hash = `#/study/${found.id}`;
      }));
      return forOperators(element("details", {class: "card"},
        element("summary", {}, "Submit a study"), element("p",
          {class: "quiet"}, "A study file, as for ", element("code", {},
            "hippo submit"), ". Look at what it would train before you do."),
        element("div", {class: "tools"}, file), text,
        element("div", {class: "tools"}, look, submit), said, tree.node));
    },
  };
}
