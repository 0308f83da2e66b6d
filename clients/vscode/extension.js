// Starts `ptxrun dap` for debug sessions of type "ptxrun".
const vscode = require("vscode");

function activate(context) {
  const factory = {
    createDebugAdapterDescriptor() {
      const command = vscode.workspace.getConfiguration("ptxrun").get("path", "ptxrun");
      return new vscode.DebugAdapterExecutable(command, ["dap"]);
    },
  };
  // F5 without a launch.json debugs the open file.
  const provider = {
    resolveDebugConfiguration(_folder, config) {
      if (!config.type && !config.request && !config.name) {
        const editor = vscode.window.activeTextEditor;
        if (!editor) {
          return undefined;
        }
        config.type = "ptxrun";
        config.request = "launch";
        config.name = "ptxrun";
        config.program = editor.document.fileName;
        config.stopOnEntry = true;
      }
      return config;
    },
  };
  context.subscriptions.push(
    vscode.debug.registerDebugAdapterDescriptorFactory("ptxrun", factory),
    vscode.debug.registerDebugConfigurationProvider("ptxrun", provider),
  );
}

function deactivate() {}

module.exports = { activate, deactivate };
