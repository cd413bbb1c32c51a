vim.api.nvim_create_autocmd({ "BufRead", "BufNewFile" }, {
  pattern = "*.ptl",
  callback = function() vim.bo.filetype = "ptl" end,
})
