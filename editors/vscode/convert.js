// What the server says, as Visual Studio Code has it. Kinds of the protocol count from 1,
// those of completions and symbols in the editor from 0.
"use strict";
const vscode = require("vscode");

const position = (p) => new vscode.Position(p.line, p.character);
const range = (r) => new vscode.Range(position(r.start), position(r.end));
const markdown = (m) => (m ? new vscode.MarkdownString(m.value) : undefined);
const location = (l) => new vscode.Location(vscode.Uri.parse(l.uri), range(l.range));
const textEdit = (e) => new vscode.TextEdit(range(e.range), e.newText);

const workspaceEdit = (e) => {
  const edit = new vscode.WorkspaceEdit();
  for (const [uri, edits] of Object.entries(e.changes)) edit.set(vscode.Uri.parse(uri), edits.map(textEdit));
  return edit;
};

const diagnostic = (d) => {
  const out = new vscode.Diagnostic(range(d.range), d.message, d.severity - 1);
  out.source = d.source;
  out.code = d.code;
  out.relatedInformation = (d.relatedInformation || []).map((r) => new vscode.DiagnosticRelatedInformation(location(r.location), r.message));
  return out;
};

const completion = (c) => {
  const item = new vscode.CompletionItem(c.label, c.kind - 1);
  item.detail = c.detail;
  item.documentation = markdown(c.documentation);
  item.sortText = c.sortText;
  item.insertText = c.textEdit.newText;
  item.range = range(c.textEdit.range);
  return item;
};

const signatureHelp = (s) => {
  const help = new vscode.SignatureHelp();
  help.signatures = s.signatures.map((x) => {
    const signature = new vscode.SignatureInformation(x.label, markdown(x.documentation));
    signature.parameters = x.parameters.map((p) => new vscode.ParameterInformation(p.label));
    return signature;
  });
  help.activeSignature = s.activeSignature;
  help.activeParameter = s.activeParameter;
  return help;
};

const inlayHint = (h) => {
  const hint = new vscode.InlayHint(position(h.position), h.label, h.kind);
  hint.paddingLeft = h.paddingLeft;
  return hint;
};

const symbol = (s) => {
  const out = new vscode.DocumentSymbol(s.name, s.detail || "", s.kind - 1, range(s.range), range(s.selectionRange));
  out.children = (s.children || []).map(symbol);
  return out;
};

const folds = { comment: 1, imports: 2, region: 3 };
const fold = (f) => new vscode.FoldingRange(f.startLine, f.endLine, folds[f.kind]);

const action = (a, known) => {
  const out = new vscode.CodeAction(a.title, a.kind === "quickfix" ? vscode.CodeActionKind.QuickFix : vscode.CodeActionKind.Source);
  if (a.edit) out.edit = workspaceEdit(a.edit);
  out.command = a.command;
  out.isPreferred = a.isPreferred;
  // The editor pairs a fix with its own diagnostics.
  const same = (d, o) => d.message === o.message && d.range.isEqual(range(o.range));
  out.diagnostics = (a.diagnostics || []).flatMap((o) => known.filter((d) => same(d, o)));
  return out;
};

const lens = (l) => {
  const out = new vscode.CodeLens(range(l.range), l.command);
  out.data = l;
  return out;
};

module.exports = { position, range, markdown, location, textEdit, workspaceEdit, diagnostic, completion, signatureHelp, inlayHint, symbol, fold, action, lens };
