// Starts `ptc lsp` for .ptl files and passes on what the editor and the server say. All
// that it needs is in this folder, so that the extension is packed without npm.
"use strict";
const { spawn } = require("child_process");
const vscode = require("vscode");
const { connect } = require("./connection");
const to = require("./convert");

const language = "ptl";
let server;

const uriOf = (document) => ({ textDocument: { uri: document.uri.toString() } });
const place = (document, position) => ({ ...uriOf(document), position });
const each = (list, convert) => (list || []).map((x) => convert(x));

// documents tells the server of the texts, from now on.
function documents(connection) {
  const ours = (f) => (document) => document.languageId === language && f(document);
  const open = ours((d) =>
    connection.notify("textDocument/didOpen", { textDocument: { uri: d.uri.toString(), languageId: language, version: d.version, text: d.getText() } }),
  );
  vscode.workspace.textDocuments.forEach(open);
  return [
    vscode.workspace.onDidOpenTextDocument(open),
    vscode.workspace.onDidCloseTextDocument(ours((d) => connection.notify("textDocument/didClose", uriOf(d)))),
    vscode.workspace.onDidSaveTextDocument(ours((d) => connection.notify("textDocument/didSave", uriOf(d)))),
    vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
      if (document.languageId !== language || contentChanges.length === 0) return;
      connection.notify("textDocument/didChange", {
        textDocument: { uri: document.uri.toString(), version: document.version },
        contentChanges: contentChanges.map((c) => ({ range: c.range, text: c.text })),
      });
    }),
  ];
}

// providers answer the editor by the server's capabilities.
function providers(connection, capabilities, stale) {
  const ask = (method, params, token) => connection.request("textDocument/" + method, params, token);
  const { languages } = vscode;
  const legend = capabilities.semanticTokensProvider.legend;
  return [
    languages.registerHoverProvider(language, {
      provideHover: async (d, p, token) => {
        const h = await ask("hover", place(d, p), token);
        return h && new vscode.Hover(to.markdown(h.contents), to.range(h.range));
      },
    }),
    languages.registerDefinitionProvider(language, {
      provideDefinition: async (d, p, token) => each(await ask("definition", place(d, p), token), to.location),
    }),
    languages.registerReferenceProvider(language, {
      provideReferences: async (d, p, context, token) => each(await ask("references", { ...place(d, p), context }, token), to.location),
    }),
    languages.registerRenameProvider(language, {
      prepareRename: async (d, p, token) => {
        const r = await ask("prepareRename", place(d, p), token);
        return r && { range: to.range(r.range), placeholder: r.placeholder };
      },
      provideRenameEdits: async (d, p, newName, token) => {
        const e = await ask("rename", { ...place(d, p), newName }, token);
        return e && to.workspaceEdit(e);
      },
    }),
    languages.registerCompletionItemProvider(
      language,
      {
        provideCompletionItems: async (d, p, token) => {
          const list = await ask("completion", place(d, p), token);
          return list && each(list.items, to.completion);
        },
      },
      ...capabilities.completionProvider.triggerCharacters,
    ),
    languages.registerSignatureHelpProvider(
      language,
      {
        provideSignatureHelp: async (d, p, token) => {
          const s = await ask("signatureHelp", place(d, p), token);
          return s && to.signatureHelp(s);
        },
      },
      ...capabilities.signatureHelpProvider.triggerCharacters,
    ),
    languages.registerInlayHintsProvider(language, {
      onDidChangeInlayHints: stale.hints.event,
      provideInlayHints: async (d, range, token) => each(await ask("inlayHint", { ...uriOf(d), range }, token), to.inlayHint),
    }),
    languages.registerCodeLensProvider(language, {
      onDidChangeCodeLenses: stale.lenses.event,
      provideCodeLenses: async (d, token) => each(await ask("codeLens", uriOf(d), token), to.lens),
      resolveCodeLens: async (lens, token) => {
        const l = await connection.request("codeLens/resolve", lens.data, token);
        if (l) lens.command = { command: "", ...l.command };
        return lens;
      },
    }),
    languages.registerCodeActionsProvider(language, {
      provideCodeActions: async (d, range, { diagnostics, only }, token) => {
        const context = { diagnostics: [], only: only && [only.value] };
        return each(await ask("codeAction", { ...uriOf(d), range, context }, token), (a) => to.action(a, diagnostics));
      },
    }),
    languages.registerDocumentSemanticTokensProvider(
      language,
      {
        provideDocumentSemanticTokens: async (d, token) => {
          const t = await ask("semanticTokens/full", uriOf(d), token);
          return t && new vscode.SemanticTokens(new Uint32Array(t.data));
        },
      },
      new vscode.SemanticTokensLegend(legend.tokenTypes, legend.tokenModifiers),
    ),
    languages.registerDocumentSymbolProvider(language, {
      provideDocumentSymbols: async (d, token) => each(await ask("documentSymbol", uriOf(d), token), to.symbol),
    }),
    languages.registerFoldingRangeProvider(language, {
      provideFoldingRanges: async (d, context, token) => each(await ask("foldingRange", uriOf(d), token), to.fold),
    }),
    languages.registerDocumentFormattingEditProvider(language, {
      provideDocumentFormattingEdits: async (d, options, token) => each(await ask("formatting", uriOf(d), token), to.textEdit),
    }),
  ];
}

exports.activate = async (context) => {
  const settings = () => {
    const s = vscode.workspace.getConfiguration("ptc");
    return { layout: s.get("layout"), target: s.get("target") };
  };
  const path = vscode.workspace.getConfiguration("ptc").get("path");
  const stale = { hints: new vscode.EventEmitter(), lenses: new vscode.EventEmitter() };
  const mistakes = vscode.languages.createDiagnosticCollection("ptc");
  context.subscriptions.push(mistakes, stale.hints, stale.lenses);

  const child = spawn(path, ["lsp"], { stdio: ["pipe", "pipe", "ignore"] });
  const connection = connect(child.stdout, child.stdin, {
    "textDocument/publishDiagnostics": (p) => mistakes.set(vscode.Uri.parse(p.uri), p.diagnostics.map(to.diagnostic)),
    "workspace/inlayHint/refresh": () => stale.hints.fire(),
    "workspace/codeLens/refresh": () => stale.lenses.fire(),
  });
  server = { connection, stopping: false };
  const ended = (why) => {
    connection.close();
    if (!server.stopping) vscode.window.showErrorMessage(`\`${path} lsp\` ${why}. The setting \`ptc.path\` names the binary; reload the window to start it again.`);
  };
  child.on("error", (e) => ended("did not start: " + e.message));
  child.on("exit", (code) => child.pid && ended("ended with " + code));

  const refreshSupport = { refreshSupport: true };
  const folders = vscode.workspace.workspaceFolders || [];
  const started = await connection.request("initialize", {
    processId: null,
    rootUri: folders.length > 0 ? folders[0].uri.toString() : null,
    workspaceFolders: folders.map((f) => ({ uri: f.uri.toString(), name: f.name })),
    initializationOptions: settings(),
    capabilities: { workspace: { inlayHint: refreshSupport, codeLens: refreshSupport } },
  });
  if (!started) return; // it did not start, which was told
  connection.notify("initialized", {});
  context.subscriptions.push(
    ...documents(connection),
    ...providers(connection, started.capabilities, stale),
    ...started.capabilities.executeCommandProvider.commands.map((command) =>
      vscode.commands.registerCommand(command, (...args) => connection.request("workspace/executeCommand", { command, arguments: args })),
    ),
    vscode.workspace.onDidChangeConfiguration((e) => {
      if (e.affectsConfiguration("ptc")) connection.notify("workspace/didChangeConfiguration", { settings: { ptc: settings() } });
    }),
  );
};

exports.deactivate = async () => {
  if (!server) return;
  server.stopping = true;
  await server.connection.request("shutdown", null);
  server.connection.notify("exit", null);
};
