// The step of llm.c's train_gpt2.c as two functions of a library, with sizes that
// its own main has fixed. Built with -I of its checkout.
#define TESTING
#include "train_gpt2.c"

static GPT2 model;

int llmc_open(const char *checkpoint) {
    gpt2_build_from_checkpoint(&model, checkpoint);
    return 0;
}

float llmc_step(int *tokens, int *targets, int batch, int length, float rate, float decay, int step) {
    gpt2_forward(&model, tokens, targets, batch, length);
    gpt2_zero_grad(&model);
    gpt2_backward(&model);
    gpt2_update(&model, rate, 0.9f, 0.95f, 1e-8f, decay, step);
    return model.mean_loss;
}
