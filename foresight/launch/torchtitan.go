package launch

import (
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"
)

// torchtitanKeys are the keys of torchtitan that say something about model, batch, layout or
// training; those of its Python configurations after the ones of its TOML files.
var torchtitanKeys = []group{
	{translated, "", `model.name:string model.flavor:string model.converters:many
		optimizer.name:string optimizer.lr:float optimizer.beta1:float optimizer.beta2:float optimizer.eps:float optimizer.weight_decay:float
		lr_scheduler.warmup_steps:int lr_scheduler.total_steps:int lr_scheduler.decay_type:string lr_scheduler.min_lr_factor:float
		training.local_batch_size:int training.global_batch_size:int training.seq_len:int training.max_norm:float training.steps:int
		training.dtype:string training.mixed_precision_param:string training.enable_cpu_offload:bool
		parallelism.data_parallel_replicate_degree:int parallelism.data_parallel_shard_degree:int
		parallelism.fsdp_reshard_after_forward:string parallelism.tensor_parallel_degree:int
		parallelism.pipeline_parallel_degree:int parallelism.module_fqns_per_model_part:lists
		parallelism.pipeline_parallel_first_stage_less_layers:int parallelism.pipeline_parallel_last_stage_less_layers:int
		parallelism.pipeline_parallel_layers_per_stage:int parallelism.pipeline_parallel_schedule:string
		parallelism.pipeline_parallel_microbatch_size:int
		parallelism.context_parallel_degree:int parallelism.context_parallel_rotate_method:string
		parallelism.context_parallel_load_balancer:string parallelism.expert_parallel_degree:int
		parallelism.expert_tensor_parallel_degree:int
		activation_checkpoint.mode:string activation_checkpoint.selective_ac_option:string`},
	{translated, "", `training.num_tokens_per_microbatch_per_dp_rank:int training.num_tokens_per_train_step:int
		training.max_context_length:int parallelism.num_pp_microbatches:int parallelism.enable_sequence_parallel:bool`},
	{refused, "the schedule is one of the names that torchtitan has", `parallelism.pipeline_parallel_schedule_csv:string=|null`},
	{refused, "replicas that come and go are not in a static plan", `fault_tolerance.enable:bool=false`},
	{refused, "the configuration depends on Python code that ptc does not run", `experimental.custom_import:string=|null
		experimental.custom_args_module:string=|null job.custom_config_module:string=|null`},
	{refused, "the optimizer updates all parameters after the backward phase", `optimizer.early_step_in_backward:bool=false`},
	{idle, "logging and profiling change no layout", `job.config_file:string job.dump_folder:string job.description:string
		job.print_config:bool job.save_config_file:string
		profiling.enable_profiling:bool profiling.save_traces_folder:string profiling.profile_freq:int profiling.profiler_active:int
		profiling.profiler_warmup:int
		profiling.enable_memory_snapshot:bool profiling.save_memory_snapshot_folder:string profiler.enable_profiling:bool
		profiler.save_traces_folder:string profiler.profile_freq:int
		metrics.log_freq:int metrics.enable_tensorboard:bool metrics.disable_color_printing:bool metrics.save_tb_folder:string
		metrics.save_for_all_ranks:bool metrics.enable_wandb:bool
		memory_estimation.enable:bool memory_estimation.disable_fake_mode:bool
		comm.init_timeout_seconds:int comm.train_timeout_seconds:int comm.trace_buf_size:int comm.save_traces_folder:string
		comm.save_traces_file_prefix:string comm.mode:string
		debug.seed:int debug.deterministic:bool debug.deterministic_warn_only:bool debug.moe_force_load_balance:bool debug.print_config:bool
		debug.save_config_file:string debug.spmd_typechecking:bool debug.detect_anomaly:bool debug.batch_invariant:bool
		debug.enable_structured_logging:bool`},
	{idle, "checkpoints change no layout", `checkpoint.enable:bool checkpoint.enable_checkpoint:bool
		checkpoint.enable_ft_dataloader_checkpoints:bool checkpoint.folder:string checkpoint.interval:int
		checkpoint.initial_load_path:string checkpoint.initial_load_model_only:bool checkpoint.initial_load_in_hf:bool
		checkpoint.initial_load_in_hf_quantized:bool
		checkpoint.last_save_model_only:bool checkpoint.last_save_in_hf:bool checkpoint.export_dtype:string checkpoint.async_mode:string
		checkpoint.keep_latest_k:int
		checkpoint.load_step:int checkpoint.exclude_from_loading:many checkpoint.enable_first_step_checkpoint:bool
		checkpoint.create_seed_checkpoint:bool checkpoint.load_only:bool`},
	{idle, "data and tokenizers change no layout", `model.hf_assets_path:string model.tokenizer_path:string model.print_after_conversion:bool
		training.dataset:string training.dataset_path:string
		training.dataloader.num_workers:int training.dataloader.persistent_workers:bool training.dataloader.pin_memory:bool
		training.dataloader.prefetch_factor:int
		training.gc_freq:int training.gc_debug:bool
		validation.enable:bool validation.dataset:string validation.dataset_path:string validation.local_batch_size:int validation.seq_len:int
		validation.freq:int validation.steps:int
		validation.dataloader.num_workers:int validation.dataloader.persistent_workers:bool validation.dataloader.pin_memory:bool
		validation.dataloader.prefetch_factor:int`},
	{idle, "ptc chooses kernels, fusions and what overlaps by itself", `compile.enable:bool compile.components:many compile.backend:string
		parallelism.enable_async_tensor_parallel:bool compile.enable_async_tensor_parallel:bool
		parallelism.disable_loss_parallel:bool parallelism.spmd_backend:string parallelism.enable_fsdp_symm_mem:bool
		parallelism.enable_compiled_autograd:bool
		parallelism.pipeline_parallel_expert_parallel_overlap:bool parallelism.expert_parallel_comm_backend:string
		activation_checkpoint.early_stop:bool activation_checkpoint.per_op_sac_force_recompute_mm_shapes_by_fqns:many
		activation_checkpoint.memory_budget:float
		activation_checkpoint.visualize_memory_budget_pareto:bool activation_checkpoint.preserve_rng_state:bool
		activation_checkpoint.determinism_check:string activation_checkpoint.debug:bool
		optimizer.implementation:string training.disable_cuda_graphs:bool training.mixed_precision_reduce:string
		quantize.linear.float8.enable_fsdp_float8_all_gather:bool quantize.linear.float8.precompute_float8_dynamic_scale_for_fsdp:bool
		quantize.linear.float8.recipe_name:string
		quantize.linear.float8.filter_fqns:many quantize.linear.float8.emulate:bool quantize.linear.mx.mxfp8_dim1_cast_kernel_choice:string
		quantize.linear.mx.recipe_name:string
		quantize.linear.mx.filter_fqns:many quantize.grouped_mm.float8.fqns:many quantize.grouped_mm.mx.recipe_name:string
		quantize.grouped_mm.mx.fqns:many`},
	{idle, "the schedule of rates here falls from the warm-up on", `lr_scheduler.decay_ratio:float`},
	{idle, "without effect, as replicas are not tolerant of faults", `fault_tolerance.process_group:string
		fault_tolerance.process_group_timeout_ms:int fault_tolerance.replica_id:int
		fault_tolerance.group_size:int fault_tolerance.min_replica_size:int fault_tolerance.semi_sync_method:string`},
}

var torchtitanTable = table(torchtitanKeys)

// fromTorchtitan reads TOML files and `--section.field value`; later ones win.
func fromTorchtitan(in Input) (*Run, []Note, error) {
	l := newKeys("torchtitan")
	for _, f := range in.Files {
		if len(f.Text) > MaxInput {
			return nil, nil, fmt.Errorf("%s: it is longer than 1 MiB", f.Name)
		}
		var tree map[string]any
		if _, err := toml.Decode(string(f.Text), &tree); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		err := flatten("", tree, func(name string, v any) error { return l.key(torchtitanTable, name, v) })
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	args, err := l.preset(in.Args)
	if err != nil {
		return nil, nil, err
	}
	if err := l.options(args); err != nil {
		return nil, nil, err
	}
	r := NewRun()
	r.Software = "torchtitan"
	if r.Kept, err = l.sort(); err != nil {
		return nil, nil, err
	}
	for _, step := range []func(*line, *Run){torchtitanModel, func(l *line, r *Run) { torchtitanMesh(l, r, in.Devices) }, torchtitanSharding, torchtitanBatch, torchtitanStages, torchtitanMemory, torchtitanTraining} {
		step(l, r)
		if err := l.err(); err != nil {
			return nil, nil, err
		}
	}
	torchtitanIdle(l, r)
	r.normal()
	return r, l.notes, nil
}

// torchtitanIdle keeps the settings of kinds of parallelism that the run does not have.
func torchtitanIdle(l *line, r *Run) {
	const p = "parallelism."
	for _, name := range l.order {
		short := strings.TrimPrefix(name, p)
		pipeline := strings.HasPrefix(short, "pipeline_parallel_") && name != p+"pipeline_parallel_degree" || name == p+"module_fqns_per_model_part"
		context := name == p+"context_parallel_rotate_method" || name == p+"context_parallel_load_balancer"
		expert := name == p+"expert_tensor_parallel_degree"
		option := name == "activation_checkpoint.selective_ac_option" && r.Recompute == "full"
		gathered := name == p+"fsdp_reshard_after_forward" && r.Zero == 0
		if g := l.settings[name]; g.fate == translated && (pipeline && r.PP == 1 || context && r.CP == 1 || expert && r.EP == 1 || option || gathered) {
			r.Kept = append(r.Kept, g.kept())
		}
	}
}

// torchtitanEarlier are the names in TOML files of options that the Python configurations have
// outside of a section.
var torchtitanEarlier = map[string]string{"hf_assets_path": "model.hf_assets_path", "dump_folder": "job.dump_folder"}

// options reads `--section.field value`, `--section.field=value`, and `--section.no-field` for
// one that is false. Dashes in names stand for underscores.
func (l *line) options(args []string) error {
	for i := 0; i < len(args); {
		a := args[i]
		i++
		name, ok := strings.CutPrefix(a, "--")
		if !ok {
			return fmt.Errorf("`%s` is neither an option nor the value of one", a)
		}
		name, value, inline := strings.Cut(name, "=")
		name = strings.ReplaceAll(name, "-", "_")
		if earlier := torchtitanEarlier[name]; earlier != "" {
			name = earlier
		}
		head, last, _ := strings.Cut(name, ".no_")
		if f := torchtitanTable[head+"."+last]; last != "" && f != nil && f.kind == "bool" {
			name, value, inline = head+"."+last, "false", true
		}
		f := torchtitanTable[name]
		var v any = value
		switch {
		case f == nil: // key reports it
		case inline && f.kind == "many":
			v = split(value)
		case inline:
		case f.kind == "many":
			var words []string
			for ; i < len(args) && !isFlag(args[i]); i++ {
				words = append(words, args[i])
			}
			v = split(strings.Join(words, ","))
		case i < len(args) && !isFlag(args[i]):
			v = args[i]
			i++
		case f.kind == "bool":
			v = "true"
		default:
			return fmt.Errorf("--%s needs a value", name)
		}
		if b, ok := v.(string); ok && f != nil && f.kind == "bool" {
			v = strings.ToLower(b)
		}
		if err := l.key(torchtitanTable, name, v); err != nil {
			return err
		}
	}
	return nil
}

// split is a list of words with commas.
func split(s string) []any {
	var out []any
	for w := range strings.SplitSeq(s, ",") {
		if w != "" {
			out = append(out, w)
		}
	}
	return out
}

// torchtitanSchedules are the names of schedules there and here.
var torchtitanSchedules = map[string]string{"1F1B": "1f1b", "GPipe": "gpipe", "Interleaved1F1B": "interleaved", "LoopedBFS": "breadth_first",
	"InterleavedZeroBubble": "interleaved_zb", "ZBVZeroBubble": "zb_v", "DualPipeV": "dualpipe_v"}
