vim.api.nvim_create_autocmd({ "BufRead", "BufNewFile" }, {
  pattern = { "*.ptl", "*.ptm" },
  callback = function() vim.bo.filetype = "ptl" end,
})
