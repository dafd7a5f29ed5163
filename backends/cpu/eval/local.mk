# Expressions over arrays on the CPU: the same loops in each variant.
cpu_kernel_tables += eval
libcpu_la_SOURCES += backends/cpu/eval/eval_run.c backends/cpu/eval/eval_check.c backends/cpu/eval/eval_held.c backends/cpu/eval/cpu_eval.h \
    backends/cpu/eval/eval_loops.h backends/cpu/eval/eval_portable.c backends/cpu/eval/eval_pick.c \
    backends/cpu/eval/eval_order.c backends/cpu/eval/eval_radix.c backends/cpu/eval/eval_radix.h backends/cpu/eval/eval_own.c \
    backends/cpu/eval/eval_columns.c

if X86_SIMD
libcpu_avx2_la_SOURCES += backends/cpu/eval/eval_avx2.c
libcpu_avx512_la_SOURCES += backends/cpu/eval/eval_avx512.c
endif
