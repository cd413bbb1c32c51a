// Package launch compares `ptc layout` with the software whose configurations it translates: `make launch-check`.
//
// In: published configurations of Megatron-LM, Megatron-Bridge, torchtitan, Megatron-DeepSpeed and MaxText, and their
// sources, fetched into a folder that is removed afterwards; sources.txt has the commits. LAUNCH_SOURCES names a folder
// that has them. Out: how many configurations are equal, and a line for each that is not, or that ptc or the parser
// refuses.
//
//	check.py           translates each configuration to a source and back, and compares
//	software.py        the configurations that are text, and what of them must be equal
//	python_configs.py  those that are Python, which recipes.py runs with stand-ins for what they import
//	parsers.py         reads the original and the result by the software's own parser, with its own checks
//
// Megatron-Bridge has no parser but OmegaConf and its classes, which need a GPU's libraries. So what ptc makes of a recipe
// is written as overrides and as flags of Megatron-LM as well, and bridge_fields.py has the recipe, OmegaConf and
// Megatron-LM's parser agree. The sizes of its models, which are at Hugging Face, are those that MaxText has.
//
// Invariant: no configuration that ptc translates differs after both translations. What may be said in two ways is
// listed in software.py. Nothing of other software is kept here.
package launch
