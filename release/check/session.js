// What extension_test.go does with the extension: a session with ptc lsp, in which the
// editor is a module that records what the extension registers. Arguments: the folder of
// the extension, and the binary.
"use strict";
const assert = require("assert");
const Module = require("module");
const path = require("path");
const { pathToFileURL } = require("url");

const [, , folder, binary] = process.argv;
const source = [
  "import std.data",
  "import std.optim",
  "config { batch = 4  n = 4  k = 3 }",
  "model Net {",
  "  param w : [n, k] ~ zeros",
  "  fn apply(x: [batch, n]) { return dot(x, w, over = n) }",
  "}",
  "train Net {",
  "  loss = mean((Net(x) - y) ** 2)",
  "  optimizer = optim.AdamW(lr = 1e-2)",
  "  data = data.synthetic(n, k)",
  "}",
  "",
].join("\n");

class Plain {
  constructor(...args) {
    this.args = args;
  }
}
class Position {
  constructor(line, character) {
    Object.assign(this, { line, character });
  }
}
class Range {
  constructor(start, end) {
    Object.assign(this, { start, end });
  }
  isEqual(o) {
    return JSON.stringify(this) === JSON.stringify(o);
  }
}
class Diagnostic {
  constructor(range, message, severity) {
    Object.assign(this, { range, message, severity });
  }
}
class EventEmitter {
  event = () => {};
  fire() {}
}
class WorkspaceEdit {
  entries = [];
  set(uri, edits) {
    this.entries.push([String(uri), edits]);
  }
}
class TextEdit {
  constructor(range, newText) {
    Object.assign(this, { range, newText });
  }
}
class CompletionItem {
  constructor(label, kind) {
    Object.assign(this, { label, kind });
  }
}
class CodeAction {
  constructor(title, kind) {
    Object.assign(this, { title, kind });
  }
}

const uri = { toString: () => pathToFileURL(path.join(folder, "model.ptl")).href };
const document = { uri, languageId: "ptl", version: 1, text: source, getText: () => document.text };
const providers = {}; // by the name of the function that registers them
const listeners = {};
const commands = {};
const settings = { path: binary, layout: "", target: "ref" };
const shown = []; // messages to the user
let told = null; // the diagnostics of the document
let heard = () => {};

const register = new Proxy({}, { get: (_, name) => (name === "createDiagnosticCollection" ? collection : (_language, provider) => (providers[name] = provider)) });
const collection = () => ({
  set(_uri, list) {
    told = list;
    heard();
  },
});
const known = {
  Position, Range, Diagnostic, EventEmitter, WorkspaceEdit, TextEdit, CompletionItem, CodeAction,
  languages: register,
  CodeActionKind: { QuickFix: "quickfix", Source: "source" },
  Uri: { parse: (text) => text },
  commands: { registerCommand: (name, f) => (commands[name] = f) },
  window: { showErrorMessage: (text) => shown.push(text) },
  workspace: new Proxy(
    { textDocuments: [document], workspaceFolders: undefined, getConfiguration: () => ({ get: (name) => settings[name] }) },
    { get: (object, name) => (name in object ? object[name] : (f) => (listeners[name] = f)) },
  ),
};
const vscode = new Proxy(known, { get: (object, name) => (name in object ? object[name] : Plain) });
const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));

async function until(holds) {
  while (!holds()) await new Promise((resolve) => (heard = resolve));
}

function change(from, to, text) {
  const at = document.text.indexOf(from);
  const place = (offset) => {
    const lines = document.text.slice(0, offset).split("\n");
    return new Position(lines.length - 1, lines[lines.length - 1].length);
  };
  const range = new Range(place(at), place(at + from.length));
  document.text = document.text.replace(from, to);
  document.version++;
  listeners.onDidChangeTextDocument({ document, contentChanges: [{ range, text: to }] });
  return range;
}

async function session() {
  const extension = require(path.join(folder, require(path.join(folder, "package.json")).main));
  await extension.activate({ subscriptions: [] });
  await until(() => told && told.length === 0);

  const hover = await providers.registerHoverProvider.provideHover(document, new Position(5, 36));
  assert(JSON.stringify(hover).includes("dot"), JSON.stringify(hover));

  const range = change("over = n)", "over = mm)");
  await until(() => told.length === 1);
  assert(told[0].message.includes("unknown axis `mm`"), told[0].message);
  assert.equal(told[0].severity, 0);

  change("zeros", "zeroes");
  await until(() => told.length > 0 && told.some((d) => d.message.includes("did you mean `zeros`?")));
  const wrong = told.find((d) => d.message.includes("zeros"));
  const actions = await providers.registerCodeActionsProvider.provideCodeActions(document, wrong.range, { diagnostics: told });
  const fix = actions.find((a) => a.kind === "quickfix");
  assert.equal(fix.title, "Replace `zeroes` with `zeros`");
  assert.deepEqual(fix.diagnostics, [wrong]);
  assert.equal(fix.edit.entries[0][1][0].newText, "zeros");

  change("zeroes", "zeros");
  change("over = mm)", "over = (n, ");
  const items = await providers.registerCompletionItemProvider.provideCompletionItems(document, new Position(range.start.line, range.start.character + 11));
  assert(items.length > 0 && items.every((i) => i.label !== "n"), JSON.stringify(items));
  for (const [name, provider] of Object.entries(providers)) assert(provider, name);
  assert.equal(Object.keys(providers).length, 13);
  assert(commands["ptc.layout"]);
  await extension.deactivate();
  assert.deepEqual(shown, []);
}

const limit = setTimeout(() => {
  console.error("the session stands still; told", told, shown);
  process.exit(1);
}, 60_000);

session().then(
  () => {
    clearTimeout(limit);
    console.log("ok");
  },
  (e) => {
    console.error(e);
    process.exit(1);
  },
);
