-- What Neovim does with an example: each check is a line of the report, and a failure the exit code.
local report = assert(io.open(os.getenv("EDITOR_REPORT"), "w"))
local failed = false

local function check(name, ok, found)
  report:write((ok and "ok: " or "FAILED: ") .. name .. "\n")
  if not ok then
    failed = true
    report:write("  found " .. vim.inspect(found) .. "\n")
  end
end

local function leave()
  report:close()
  vim.cmd(failed and "cquit 1" or "qall!")
end

local function request(method, params)
  local answers = vim.lsp.buf_request_sync(0, method, params, 30000) or {}
  for _, a in pairs(answers) do
    if a.error then return nil, a.error end
    return a.result
  end
end

-- The position of a text in the buffer, as the protocol has it.
local function at(text)
  for n, line in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, false)) do
    local i = line:find(text, 1, true)
    if i then
      vim.api.nvim_win_set_cursor(0, { n, i - 1 })
      return vim.lsp.util.make_position_params(0, "utf-16")
    end
  end
  error("no " .. text)
end

local function session()
  require("ptl").setup({ cmd = { os.getenv("PTC_BIN"), "lsp" }, layout = "three_d" })
  vim.cmd("runtime ftdetect/ptl.lua")
  vim.bo.filetype = "ptl"
  local attached = vim.wait(10000, function()
    for _, c in pairs(vim.lsp.buf_get_clients(0)) do
      if c.initialized or c.server_capabilities then return true end
    end
  end, 20)
  check("the server starts", attached)
  if not attached then return end

  local hover = request("textDocument/hover", at("q = dot("))
  check("hover has the shape", hover and hover.contents.value:find("seq=128, heads=4, head=32", 1, true), hover)
  -- An answer waits for the compilation for a second only.
  local sharded = vim.wait(30000, function()
    hover = request("textDocument/hover", at("q = dot("))
    return hover ~= nil and hover.contents.value:find("heads=4@tp", 1, true) ~= nil
  end, 200)
  check("hover has the sharding", sharded, hover)
  local definition = request("textDocument/definition", at("LayerNorm"))
  check("definition in the standard library", definition and definition[1] and definition[1].uri:find("nn.ptl", 1, true), definition)
  local help = request("textDocument/signatureHelp", at("x, wq, over"))
  check("signature", help and help.signatures[1].label:find("dot(", 1, true), help)

  local params = at("param wo")
  params.position.character = params.position.character + 6
  params.newName = "out"
  local edit, problem = request("textDocument/rename", params)
  check("rename", edit ~= nil, problem)
  if edit then vim.lsp.util.apply_workspace_edit(edit, "utf-16") end
  local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n")
  check("rename changes every place", text:find("param out", 1, true) and text:find("over = kseq), out, over", 1, true) and not text:find("%f[%w]wo%f[%W]"), nil)

  local lens = request("textDocument/codeLens", { textDocument = vim.lsp.util.make_text_document_params() })
  local resolved = lens and lens[#lens] and request("codeLens/resolve", lens[#lens])
  check("code lens", resolved and resolved.command.title:find("collectives, ", 1, true), resolved or lens)

  -- A mistake is shown, and goes with its cause.
  local line = at("v = dot(").position.line
  local was = vim.api.nvim_buf_get_lines(0, line, line + 1, false)[1]
  vim.api.nvim_buf_set_lines(0, line, line + 1, false, { (was:gsub("embed", "embd")) })
  local shown = vim.wait(20000, function() return #vim.diagnostic.get(0) == 1 end, 50)
  local found = vim.diagnostic.get(0)
  check("a mistake is shown", shown and found[1].lnum == line and found[1].message:find("unknown axis `embd`", 1, true), found)
  vim.api.nvim_buf_set_lines(0, line, line + 1, false, { was })
  check("and goes with its cause", vim.wait(20000, function() return #vim.diagnostic.get(0) == 0 end, 50), vim.diagnostic.get(0))

  vim.api.nvim_buf_set_lines(0, line, line + 1, false, { "        " .. vim.trim(was) })
  local edits = request("textDocument/formatting", { textDocument = vim.lsp.util.make_text_document_params(), options = { tabSize = 2, insertSpaces = true } })
  if edits then vim.lsp.util.apply_text_edits(edits, vim.api.nvim_get_current_buf(), "utf-16") end
  check("formatting", vim.api.nvim_buf_get_lines(0, line, line + 1, false)[1] == was, edits)

  local clients = vim.lsp.get_active_clients()
  vim.lsp.stop_client(clients)
  check("the session ends", vim.wait(10000, function() return #vim.lsp.get_active_clients() == 0 end, 50))
end

local ok, problem = xpcall(session, debug.traceback)
check("no error of Lua", ok, problem)
leave()
