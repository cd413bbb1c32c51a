-- Starts `ptc lsp` for .ptl files: require("ptl").setup({ cmd = { "ptc", "lsp" }, layout = "tensor", target = "cuda" }).
-- For Neovim 0.7 and later, without other plugins.
local M = {}

local clients = {} -- by the folder of the file

function M.start(options)
  local root = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(0), ":p:h")
  if not clients[root] then
    clients[root] = vim.lsp.start_client({
      name = "ptc",
      cmd = options.cmd or { "ptc", "lsp" },
      root_dir = root,
      init_options = { layout = options.layout or "", target = options.target or "" },
      on_attach = options.on_attach,
      on_exit = function() clients[root] = nil end,
    })
  end
  if clients[root] then
    vim.lsp.buf_attach_client(0, clients[root])
  end
end

function M.setup(options)
  options = options or {}
  vim.api.nvim_create_autocmd("FileType", {
    pattern = "ptl",
    callback = function()
      vim.bo.commentstring = "// %s"
      vim.bo.shiftwidth, vim.bo.expandtab = 2, true
      M.start(options)
    end,
  })
end

return M
