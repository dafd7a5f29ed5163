# Elements of arrays by their numbers and by their order on GPUs; expressions are generated (src/eval/generate.c).
gpu_kernel_tables += eval
libgpu_la_SOURCES += backends/gpu/eval/gpu_eval.c backends/gpu/eval/gpu_order.c backends/gpu/eval/gpu_order.h
gpu_cl += families/eval/eval_format.h families/eval/eval_pick.h families/eval/eval_merge.h families/eval/eval_key.h \
    backends/gpu/eval/pick.cl backends/gpu/eval/order.cl backends/gpu/eval/digits.cl backends/gpu/eval/digits_lanes.cl \
    backends/gpu/eval/digits_plain.cl
gpu_texts += eval_pick:eval/pick.cl eval_order:eval/order.cl eval_digits:eval/digits.cl
