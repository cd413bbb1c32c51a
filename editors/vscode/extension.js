// Starts `ptc lsp` for .ptl files; all else is the server's.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = () => {
  const settings = workspace.getConfiguration("ptc");
  client = new LanguageClient(
    "ptc",
    "ptc",
    { command: settings.get("path"), args: ["lsp"] },
    {
      documentSelector: [{ language: "ptl" }],
      initializationOptions: { layout: settings.get("layout"), target: settings.get("target") },
      synchronize: { configurationSection: "ptc" },
    },
  );
  return client.start();
};

exports.deactivate = () => client && client.stop();
