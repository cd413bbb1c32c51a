package launch

// megatronOthers are all other flags of Megatron-LM: what they mean has no place in a layout, or is
// something that ptc lacks.
var megatronOthers = []group{
	{refused, "states and gradients of the optimizer are f32 here", `exp-avg-dtype:string=fp32 exp-avg-sq-dtype:string=fp32 main-grads-dtype:string=fp32
		main-params-dtype:string=fp32 megatron-fsdp-grad-comm-dtype:string=fp32
		megatron-fsdp-main-grads-dtype:string=fp32 megatron-fsdp-main-params-dtype:string=fp32`},
	{refused, "the optimizer's states are all in the memory of the host, or none", `optimizer-offload-fraction:float=1.0|1`},
	{refused, "the sequence is sharded between blocks by --sequence-parallel", `distribute-saved-activations`},
	{refused, "an older name: write --fp8-format", `fp8-e4m3 fp8-hybrid`},
	{refused, "the MLPs of experts are sharded by --expert-tensor-parallel-size", `moe-extended-tp`},
	{refused, "multi-latent attention and connections of several streams are not in std.decoder", `cache-mla-latents enable-mhc-connections
		mla-down-proj-fusion multi-latent-attention`},
	{refused, "models with other layers than attention and MLPs are not in std.decoder", `attention-output-gate experimental-attention-variant:string
		heterogeneous-layers-config-encoded-json:string heterogeneous-layers-config-path:string
		hybrid-layer-pattern:string hybrid-override-pattern:string is-hybrid-model linear-attention-freq:string
		spec:many`},
	{refused, "prediction of several tokens is not in std.models", `mtp-num-layers:int=0`},
	{refused, "shared experts and experts in some layers alone are not in std.decoder", `moe-latent-size:int moe-layer-freq:string=1
		moe-router-group-topk:int moe-router-num-groups:int=1
		moe-router-score-function:string=softmax moe-shared-expert-intermediate-size:int`},
	{refused, "attention of this kind is not in std.decoder", `activation-func-clamp-value:float glu-linear-offset:float=0.0
		mrope-section:many no-rope-freq:string
		qk-l2-norm quick-geglu rotary-seq-len-interpolation-factor:int softmax-type:string=vanilla
		window-attn-skip-freq:string window-size:string`},
	{refused, "a model of an encoder and a decoder is not in std.models", `decoder-num-layers:int decoder-seq-length:int
		encoder-pipeline-model-parallel-size:int=0
		encoder-tensor-model-parallel-size:int=0`},
	{refused, "residual connections are those of the dtype that the model computes in, after the norm's input", `apply-residual-connection-post-layernorm fp32-residual-connection`},
	{refused, "sequences are sharded over one level of ranks here", `hierarchical-context-parallel-sizes:many hybrid-context-parallel
		max-seqlen-per-dp-cp-rank:int`},
	{refused, "weights that are sharded over more ranks than their products have no counterpart; use --use-megatron-fsdp", `enable-full-sharding-in-hsdp expert-tensor-parallel-num-weight-shards:int=1
		outer-dp-sharding-strategy:string=no_shard tensor-parallel-num-weight-shards:int=1`},
	{refused, "products of four bits are not in ptc", `fp4-format:string`},
	{refused, "activations in the memory of the host are not chosen by layers; write `offload activations` in the layout", `cpu-offloading-num-layers:int=0 fine-grained-activation-offloading`},
	{refused, "training by reinforcement is another program", `perform-rl-step`},
	{refused, "it trains nothing", `freeze-all-layers skip-train`},
	{refused, "ptc pads no vocabulary: write --vocab-size alone", `padded-vocab-size:int`},
	{refused, "no longer valid in Megatron-LM: write --micro-batch-size, --tensor-model-parallel-size, --lr-warmup-iters and --recompute-granularity", `activations-checkpoint-method:string batch-size:int checkpoint-activations checkpoint-num-layers:int
		model-parallel-size:int num-experts-switch:int warmup:int`},
	{refused, "the arguments of a run here are on the command line alone", `use-checkpoint-args yaml-cfg:string`},
	{idle, "logging and profiling change no layout", `app-tag-run-name:string app-tag-run-version:string check-for-large-grads check-for-spiky-loss
		check-weight-hash-across-dp-replicas-interval:int config-logger-dir:string disable-check-for-nan-in-loss
		disable-filter-warnings disable-flight-recorder-dump-on-timeout
		disable-flight-recorder-extra-dump-on-exec disable-flight-recorder-include-only-active
		disable-log-loss-scale-to-tensorboard disable-straggler-on-startup error-injection-rate:int
		error-injection-type:string fault-injector-delay-start-iteration:int fault-injector-fault-delay:float
		fault-injector-fault-probabilities:string fault-injector-fault-types:string
		fault-injector-mtti-seconds:float fault-injector-num-ranks:int fault-injector-offset-seconds:float
		fault-injector-ranks:string fault-injector-seed:int flight-recorder-dump-path:string
		flight-recorder-include-stack-trace flight-recorder-trace-buffer-size:int gpu-sniff-test-interval:int
		log-device-memory-used log-energy log-interval:int log-l2-norm-grad-to-tensorboard
		log-max-attention-logit log-memory-interval:int log-memory-to-tensorboard log-num-zeros-in-grad
		log-params-norm log-progress log-runtime-to-tensorboard log-straggler log-throughput
		log-throughput-to-tensorboard log-timers-to-tensorboard log-validation-ppl-to-tensorboard
		log-world-size-to-tensorboard logging-level:int logits-load-decode-threads:int logits-load-dir:string
		logits-load-ignore-errors logits-load-kd-loss-alpha:float logits-load-msc-prefetch-depth:int
		logits-load-prefetch-factor:int logits-save-dir:string logits-save-dtype:string logits-save-top-k:int
		logits-save-top-p:float logits-save-top-p-min-k:int memory-keys:string memory-snapshot-path:string
		modules-to-filter:many moe-per-layer-logging no-barrier-with-level-1-timing no-check-for-nan-in-loss
		no-check-for-nan-in-loss-and-grad no-filter-warnings no-flight-recorder-dump-on-timeout
		no-flight-recorder-extra-dump-on-exec no-flight-recorder-include-only-active
		no-log-loss-scale-to-tensorboard no-one-logger nvtx-ranges one-logger-async one-logger-project:string
		one-logger-run-name:string otel-enabled otel-service-name:string otel-span-groups:string profile
		profile-ranks:many profile-step-end:int profile-step-start:int pytorch-profiler-collect-callstack
		pytorch-profiler-collect-chakra pytorch-profiler-collect-shapes record-memory-history record-shapes
		rerun-mode:string result-rejected-tracker-filename:string rl-profile rl-profile-dir:string
		run-workload-inspector-server save-dgrads-interval:int save-wgrads-interval:int set-level-for-all-loggers
		straggler-ctrlr-port:int straggler-minmax-count:int tensorboard-dir:string tensorboard-log-interval:int
		tensorboard-queue-size:int throughput-window-size:int timing-log-level:int timing-log-option:string
		use-pytorch-profiler wandb-entity:string wandb-exp-name:string wandb-project:string wandb-save-dir:string`},
	{idle, "checkpoints change no layout", `adlr-autoresume adlr-autoresume-interval:int async-ckpt-cpu-priority:int async-ckpt-io-priority:int
		async-ckpt-use-cpu-shm async-save async-strategy:string auto-detect-ckpt-format calc-ft-timeouts
		ckpt-assume-constant-structure ckpt-convert-format:string ckpt-convert-save:string
		ckpt-convert-update-legacy-dist-opt-format ckpt-drop-redundant-extra-state ckpt-format:string
		ckpt-fully-parallel-load ckpt-fully-parallel-load-exchange-algo:string
		ckpt-fully-parallel-load-per-rank-objects ckpt-fully-parallel-load-process-group:string
		ckpt-fully-parallel-save ckpt-fully-parallel-save-process-group:string ckpt-pg-tensors-cache-create
		ckpt-pg-tensors-cache-path:string ckpt-step:int disable-ckpt-load-validate-sharding-integrity
		disable-load-optim disable-load-rng disable-msc disable-save-optim disable-save-rng
		disable-save-tokenizer-assets disable-strict-fsdp-dtensor-load
		disable-use-tokenizer-model-from-checkpoint-args dist-ckpt-format:string
		dist-ckpt-optim-fully-reshardable dist-ckpt-save-pre-mcore-014 dist-ckpt-strictness:string
		dist-ckpt-workers:int distrib-optim-fully-reshardable-mem-efficient enable-ft-package enable-msc
		exit-duration-in-mins:int exit-interval:int exit-on-missing-checkpoint exit-signal:string
		exit-signal-handler exit-signal-handler-for-dataloader exit-signal-handler-for-training finetune
		ft-num-warmup-iters:int inprocess-active-world-size:int inprocess-barrier-timeout:float
		inprocess-completion-timeout:float inprocess-empty-cuda-cache inprocess-granularity:string
		inprocess-hard-timeout:float inprocess-heartbeat-interval:float inprocess-heartbeat-timeout:float
		inprocess-last-call-wait:float inprocess-max-iterations:int inprocess-monitor-process-interval:float
		inprocess-monitor-thread-interval:float inprocess-progress-watchdog-interval:float inprocess-restart
		inprocess-soft-timeout:float inprocess-termination-grace-time:float load:string
		load-main-params-from-ckpt most-recent-k:int no-ckpt-fully-parallel-save
		no-ckpt-load-validate-sharding-integrity no-load-optim no-load-rng no-save-optim no-save-rng
		no-save-tokenizer-assets no-strict-fsdp-dtensor-load no-use-tokenizer-model-from-checkpoint-args
		non-persistent-ckpt-type:string non-persistent-global-ckpt-dir:string
		non-persistent-local-ckpt-algo:string non-persistent-local-ckpt-dir:string
		non-persistent-save-interval:int object-storage-cache-path:string override-ckpt-iteration:int
		override-opt-param-scheduler override-opt_param-scheduler persistent-save-interval:int
		phase-transition-iterations:string pretrained-checkpoint:string replication replication-factor:int
		replication-jump:int save:string save-activations-interval:int save-config-filepath:string
		save-interval:int save-params-interval:int save-retain-interval:int save-tokens-per-expert-interval:int
		use-checkpoint-opt-param-scheduler use-checkpoint-opt_param-scheduler use-dist-ckpt
		use-mp-args-from-checkpoint-args use-persistent-ckpt-worker verify-integrity`},
	{idle, "data and tokenizers change no layout", `allow-ambiguous-pad-tokens block-data-path:string chat-template:string data-args-path:string
		data-cache-path:string data-impl:string data-parallel-random-init data-path:many
		data-per-class-fraction:float dataloader-defer-npy-index-mmap dataloader-fast-cache-load
		dataloader-inter-document-masking dataloader-type:string disable-pad-vocab-size
		disable-tokenizer-sentencepiece-ignore-extra-whitespaces eod-mask-loss eval-global-batch-size:int
		eval-interval:int eval-iters:int eval-micro-batch-size:int evidence-data-path:string fim-data
		fim-eod-token:string fim-fragment-rate:float fim-middle-token:string fim-no-prefix:string
		fim-pad-token:string fim-prefix-token:string fim-rate:float fim-split-sample:string fim-spm-rate:float
		fim-suffix-token:string full-validation iterations-to-skip:many mask-prob:float merge-file:string
		mid-level-dataset-surplus:float mmap-warmup mock-data multiple-validation-sets
		no-create-attention-mask-in-dataloader no-data-sharding no-mmap-bin-files no-pad-vocab-size
		no-tokenizer-sentencepiece-ignore-extra-whitespaces null-tokenizer-eod-id:int null-tokenizer-pad-id:int
		num-dataset-builder-threads:int num-workers:int per-dataset-sequences-path:string
		per-split-data-args-path:string reset-attention-mask reset-position-ids sample-rate:float seed:int sft
		sft-tokenizer-prompt-format:string short-seq-prob:float split:string start-eval-at-iter:int
		test-data-path:many test-mode tiktoken-num-special-tokens:int tiktoken-pattern:string
		titles-data-path:string tokenizer-hf-no-include-special-tokens tokenizer-hf-no-use-fast
		tokenizer-metadata:string tokenizer-model:string tokenizer-sentencepiece-legacy
		tokenizer-special-tokens:many train-data-path:many train-sync-interval:int trust-remote-code
		use-gigatoken use-legacy-models use-legacy-static-engine valid-data-path:many validation-set-names:many
		vocab-extra-ids:int vocab-file:string`},
	{idle, "without effect on a decoder that is trained", `batch-invariant-backend:string batch-invariant-mode bert-embedder-type:string bert-load:string
		bert-no-binary-head biencoder-projection-dim:int biencoder-shared-query-context-model
		classes-fraction:float cuda-graph-impl:string cuda-graph-modules:many cuda-graph-scope:many
		cuda-graph-warmup-steps:int decode-only-cuda-graphs decrease-batch-size-if-needed
		dino-bottleneck-size:int dino-freeze-last-layer:float dino-head-hidden-size:int
		dino-local-crops-number:int dino-local-img-size:int dino-norm-last-layer dino-teacher-temp:float
		dino-warmup-teacher-temp:float dino-warmup-teacher-temp-epochs:int disable-dsa-indexer-rotate-activation
		disable-dsa-indexer-scoring-relu disable-mamba-mem-eff-path dsa-indexer-head-dim:int
		dsa-indexer-k-norm-epsilon:float dsa-indexer-k-norm-fp32 dsa-indexer-loss-coeff:float
		dsa-indexer-n-heads:int dsa-indexer-rope-interleaved dsa-indexer-skip-topk-offset:int
		dsa-indexer-topk:int dsa-indexer-topk-freq:int dsa-indexer-use-sparse-loss dsa-kernel-backend:string
		embedding-path:string enable-chunked-prefill enable-cuda-graph enable-experimental external-cuda-graph
		flash-decode gdp-cutedsl-kernel gdp-num-chunk-states-to-recompute:int gdp-num-householder:int
		grpo-clamp-eps-lower:float grpo-clamp-eps-upper:float grpo-entropy-term-weight:float
		grpo-filter-groups-with-same-reward grpo-group-size:int grpo-iterations:int grpo-kl-beta:float
		grpo-prompts-per-step:int gtp-expert-remat-nccl-ub gtp-remat-nccl-ub gtp-remat-opt-in-modules:many
		gtp-remat-reduce-scatter-with-fp32-accumulation head-lr-mult:float ict-head-size:int ict-load:string
		img-h:int img-w:int indexer-batch-size:int indexer-log-interval:int
		inference-batch-times-seqlen-threshold:int inference-coordinator-port:int
		inference-cuda-graph-all-prefills inference-cuda-graph-max-tokens:int inference-cuda-graph-scope:string
		inference-disable-ep-consensus:string inference-disable-triton-nvls-kernels inference-dynamic-batching
		inference-dynamic-batching-async-sched-mode:string inference-dynamic-batching-block-size:int
		inference-dynamic-batching-buffer-size-gb:float
		inference-dynamic-batching-cuda-graph-mixed-prefill-count:int
		inference-dynamic-batching-cuda-graph-sizing-distribution:string
		inference-dynamic-batching-logprobs-mode:string inference-dynamic-batching-mamba-memory-ratio:float
		inference-dynamic-batching-max-requests:int inference-dynamic-batching-max-tokens:int
		inference-dynamic-batching-num-cuda-graphs:int inference-dynamic-batching-paused-buffer-size-gb:float
		inference-dynamic-batching-prefix-caching:string
		inference-dynamic-batching-prefix-caching-coordinator-policy:string
		inference-dynamic-batching-prefix-caching-eviction-policy:string
		inference-dynamic-batching-prefix-caching-mamba-gb:float
		inference-dynamic-batching-prefix-caching-routing-alpha:float
		inference-dynamic-batching-sampling-backend:string
		inference-dynamic-batching-track-generated-token-events
		inference-dynamic-batching-track-paused-request-events
		inference-dynamic-batching-unified-memory-level:int inference-fuse-tp-communication
		inference-grouped-gemm-backend:string inference-logging-step-interval:int inference-max-requests:int
		inference-max-seq-length:int inference-moe-disable-fused-quant-kernels
		inference-moe-token-dispatcher-type:string inference-rng-tracker inference-shards:string
		inference-text-gen-server-logging:string inference-use-synchronous-zmq-collectives:string
		inference-wandb-logging:string iter-per-epoch:int kitchen-attention-backend:string
		kitchen-config-file:string kitchen-recipe-number:int kv-lora-rank:int langrl-env-config:string
		linear-conv-kernel-dim:int linear-key-head-dim:int linear-num-key-heads:int linear-num-value-heads:int
		linear-value-head-dim:int mamba-head-dim:int mamba-inference-conv-states-dtype:string
		mamba-inference-ssm-states-dtype:string mamba-num-groups:int mamba-num-heads:int mamba-state-dim:int
		mamba-training-ssm-states-dtype:string mask-factor:float mask-type:string max-tokens-to-oom:int
		mhc-init-gating-factor:float mhc-num-residual-streams:int mhc-recompute-layer-num:int
		mhc-sinkhorn-iterations:int moe-pad-experts-for-cuda-graph-inference mscale:float mscale-all-dim:float
		mtp-detach-heads mtp-hsm mtp-hybrid-override-pattern:string mtp-loss-scaling-factor:float mtp-standalone
		mtp-use-repeated-layer nccl-all-reduce-for-prefill nccl-communicator-config-path:string
		no-dsa-indexer-rotate-activation no-dsa-indexer-scoring-relu no-query-key-layer-scaling
		no-yarn-correction-range-round-to-int num-channels:int num-classes:int num-speculative-tokens:int
		onnx-safe:string optimizer-cuda-graph output-bert-embeddings patch-dim:int q-lora-rank:int
		qk-head-dim:int qk-pos-emb-head-dim:int query-in-block-prob:float refit-method:string
		relative-attention-max-distance:int relative-attention-num-buckets:int
		retriever-report-topk-accuracies:many retriever-score-scaling rl-consumption-granularity:string
		rl-default-temperature:float rl-default-top-k:int rl-default-top-p:float rl-durable-rollout-bank
		rl-generation-lag:float rl-importance-sampling-truncation-coef:float
		rl-inference-expert-model-parallel-size:int rl-inference-expert-tensor-model-parallel-size:int
		rl-inference-logprobs-is-correction:string rl-inference-model-unified-memory-level:int
		rl-inference-parsers:many rl-inference-pipeline-model-parallel-size:int
		rl-inference-tensor-model-parallel-size:int rl-kv-cache-management-mode:string
		rl-max-inflight-requests:int rl-offload-inference-model-weights-when-idle:string
		rl-offload-optimizer-during-inference rl-partial-rollouts:string rl-persist-cuda-graphs:string
		rl-prompts-per-eval:int rl-rollout-bank-dir:string rl-rollout-bank-max-bytes:int
		rl-sequence-packing-algo:string rl-sequence-packing-max-sequences-per-bin:int rl-skip-bos-token:string
		rl-submission-granularity:string rl-training-cuda-graphs:string rl-use-sequence-packing:string
		rl-verify-model-weights-swap:string rotary-scaling-factor:float runtime-time-unit:string
		swin-backbone-type:string symmetric-ar-type:string te-rng-tracker use-kitchen-attention use-nccl-ub
		use-one-sent-docs use-same-sampling-seed-across-dp-ranks v-head-dim:int vision-backbone-type:string
		vision-pretraining vision-pretraining-type:string yarn-beta-fast:float yarn-beta-slow:float
		yarn-correction-range-round-to-int yarn-original-max-position-embeddings:int`},
	{idle, "ptc chooses kernels, fusions and their order by itself", `apply-query-key-layer-scaling attention-backend:string attention-softmax-in-fp32
		cross-entropy-fusion-impl:string cross-entropy-loss-fusion defer-embedding-wgrad-compute
		delay-grad-reduce delay-offload-until-cuda-graph delay-wgrad-compute deterministic-mode
		disable-bf16-reduced-precision-matmul disable-clone-scatter-output-in-embedding disable-fp8-wgrad
		disable-gloo-process-groups disable-jit-fuser disable-manual-gc-eval disable-tp-comm-bulk-dgrad
		disable-tp-comm-bulk-wgrad disable-tp-comm-overlap-ag disable-tp-comm-overlap-rs disable-tp-comm-split-ag
		disable-tp-comm-split-rs empty-unused-memory-level:int first-last-layers-bf16 flash-attention-version:int
		fp4-param-gather fp4-quantizer-factory:string fp4-recipe:string fp8-amax-compute-algo:string
		fp8-amax-history-len:int fp8-interval:int fp8-margin:int fp8-output-proj fp8-param-gather
		fp8-quantizer-factory:string fp8-recipe:string fused-residual-rmsnorm high-priority-a2a-comm-stream
		high-priority-stream-groups:many keep-fp8-transpose-cache lazy-mpu-init manual-gc manual-gc-interval:int
		microbatch-group-size-per-virtual-pipeline-stage:int mlp-chunks-for-prefill:int
		mlp-chunks-for-training:int moe-apply-probs-on-input moe-deepep-num-sms:int moe-enable-deepep
		moe-enable-routing-replay moe-flex-dispatcher-backend:string moe-flex-dispatcher-num-sms:int
		moe-grouped-gemm moe-hybridep-num-blocks-permute:int moe-hybridep-num-blocks-unpermute:int
		moe-hybridep-num-sms:int moe-hybridep-num-sms-preprocessing:int moe-hybridep-pad-uneven-dispatch-inputs
		moe-layer-recompute moe-pad-expert-input-to-capacity moe-permute-fusion moe-permute-fusion-into-hybridep
		moe-router-dtype:string moe-router-force-biased:float moe-router-force-load-balancing moe-router-fusion
		moe-router-padding-for-fp8 moe-router-padding-for-quantization moe-router-quantile-balancing-ema:float
		moe-shared-expert-gate moe-shared-expert-glu-interleave-size:int moe-shared-expert-overlap
		moe-single-grouped-bias moe-single-grouped-weight moe-token-dispatcher-type:string moe-use-grouped-tensor
		moe-use-upcycling no-bias-dropout-fusion no-bias-gelu-fusion no-bias-swiglu-fusion
		no-clone-scatter-output-in-embedding no-fp8-wgrad no-gradient-accumulation-fusion
		no-gradient-reduce-div-fusion no-initialization no-manual-gc-eval no-masked-softmax-fusion
		no-persist-layer-norm no-rope-fusion no-tp-comm-bulk-dgrad no-tp-comm-bulk-wgrad no-tp-comm-overlap-ag
		no-tp-comm-overlap-rs no-tp-comm-split-ag no-tp-comm-split-rs no-use-layer-wise-param-layout
		num-layers-at-end-in-bf16:int num-layers-at-start-in-bf16:int reuse-grad-buf-for-mxfp8-param-ag
		rope-type:string te-precision-config-file:string tp-comm-bootstrap-backend:string tp-comm-overlap
		tp-comm-overlap-cfg:string tp-comm-overlap-rs-dgrad transformer-impl:string use-cpu-initialization
		use-flash-attn use-flash-attn-v2 use-fused-weighted-squared-relu use-grouped-gemm-for-dense-mlp
		use-grouped-gemm-for-shared-expert use-mcore-models use-ring-exchange-p2p use-te-activation-func
		use-transformer-engine-op-fuser wgrad-deferral-limit:int`},
	{idle, "ptc overlaps collectives and buckets gradients by itself", `DDP-impl:string accumulate-allreduce-grads-in-fp32
		activation-offload-fraction:float
		cpu-offloading-retain-pinned-cpu-buffers create-all-gather-group ddp-average-in-collective
		ddp-bucket-size:int ddp-num-buckets:int ddp-pad-buckets-for-high-nccl-busbw
		ddp-param-name-patterns-for-fp32-local-accumulation:many ddp-reduce-scatter-with-fp32-accumulation
		delta-offload-bytes-across-pp-ranks:int disable-align-grad-reduce disable-symmetric-registration
		distributed-backend:string distributed-timeout-minutes:int distributed-timeout-seconds-after-init:int
		ep-overlap-early-attn-memory-release fake-process-group fine-grained-offloading-max-inflight-offloads:int
		fsdp-db-use-persist-buf-on-alloc-fail fsdp-double-buffer fsdp-manual-registration
		init-model-with-meta-device local-rank:int megatron-fsdp-enable-fine-grained-param-gather
		megatron-fsdp-max-pool-double-buffer megatron-fsdp-version:int min-offloaded-tensor-size:int
		no-align-grad-reduce no-align-param-gather no-async-tensor-model-parallel-allreduce no-pin-cpu-grads
		no-pin-cpu-params offload-modules:many overlap-cpu-optimizer-d2h-h2d
		overlap-dispatch-backward-with-experts-wgrad overlap-grad-reduce overlap-moe-expert-parallel-comm
		overlap-p2p-communication overlap-p2p-communication-warmup-flush overlap-param-gather
		overlap-param-gather-with-optimizer-step pipeline-model-parallel-comm-backend:string
		sharp-enabled-group:string suggested-communication-unit-size:int use-contiguous-buffers-in-local-ddp
		use-precision-aware-optimizer use-sharp use-torch-optimizer-for-cpu-offload`},
	{idle, "initial values, regularization and rates change no layout", `apply-layernorm-1p apply-wd-to-qk-layernorm attention-dropout:float
		calculate-per-token-loss
		decoupled-lr:float decoupled-min-lr:float dump-param-to-param-group-map:string
		embedding-init-method-std:float end-weight-decay:float fp16-lm-cross-entropy hidden-dropout:float
		hysteresis:int init-method-xavier-uniform initial-loss-scale:float loss-scale-window:float
		lr-decay-steps:int lr-warmup-init:float lr-warmup-steps:int lr-wsd-decay-iters:int
		lr-wsd-decay-samples:int lr-wsd-decay-style:string min-loss-scale:float moe-aux-loss-coeff:many
		moe-combine-bwd-dtype:string moe-dispatch-fwd-dtype:string moe-expert-rank-capacity-factor:float
		moe-input-jitter-eps:float moe-mlp-glu-interleave-size:int moe-ncclep-zero-copy moe-paged-stash
		moe-paged-stash-buffer-size-factor-cpu:float moe-paged-stash-buffer-size-factor-cuda:float
		moe-paged-stash-page-size:int moe-router-bias-update-rate:float moe-router-enable-expert-bias
		moe-router-load-balancing-type:many moe-router-pre-softmax moe-router-topk-scaling-factor:float
		moe-routing-trace-capture-hidden-states moe-routing-trace-capture-logits moe-routing-trace-dump-weights
		moe-routing-trace-max-training-iters:int moe-routing-trace-path:string moe-token-drop-policy:string
		moe-upcycling-granularity:int moe-z-loss-coeff:float muon-coefficient-type:string
		muon-extra-scale-factor:float muon-fp32-matmul-prec:string muon-momentum:float muon-nesterov
		muon-no-split-qkv muon-num-ns-steps:int muon-scalar-optimizer:string muon-scale-mode:string
		muon-tp-mode:string muon-use-syrk mup-attn-scale-power:float mup-base-head-dim:float
		mup-base-hidden-size:int mup-embedding-mult:float mup-output-mult:float mup-width-mult:float
		no-weight-decay-cond-type:string output-logit-dtype:string qk-clip qk-clip-alpha:float
		qk-clip-threshold:float rampup-batch-size:many rotary-interleaved start-weight-decay:float
		step-batch-size-schedule:string use-mup wd-incr-steps:int weight-decay-incr-style:string
		wsd-decay-steps:int`},
}
