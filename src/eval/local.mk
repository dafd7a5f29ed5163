# Expressions over arrays: a text, its tree, programs, and what devices make of them.
libcore_la_SOURCES += families/eval/eval_format.h families/eval/eval_ops.h families/eval/eval_helpers.h \
    families/eval/eval_polynomials.h families/eval/eval_maths.h families/eval/eval_angles.h families/eval/eval_floats.h \
    families/eval/eval_random.h families/eval/eval_pick.h families/eval/eval_pick_job.h families/eval/eval_merge.h \
    families/eval/eval_key.h families/eval/kernels.def src/eval/tree.h src/eval/parser.h src/eval/define.c src/eval/statements.c src/eval/parse.c src/eval/formula.c src/eval/shorthand.c src/eval/eval_stage.h src/eval/steps.c src/eval/types.h src/eval/types.c \
    src/eval/emit.h src/eval/arithmetic.c src/eval/maths.c src/eval/compile.c src/eval/alike.c src/eval/choose.c src/eval/own.c families/eval/eval_dialects.h families/eval/eval_dialects.c src/eval/generate.h src/eval/generate.c src/eval/generate_fold.c src/eval/generate_scan.c src/eval/known.c src/eval/room.h \
    src/eval/room.c src/eval/launch.c src/eval/layout.h src/eval/layout.c src/eval/run.h src/eval/run.c src/eval/reduce.c src/eval/direct.c src/eval/joint.c src/eval/scan.c
nodist_libcore_la_SOURCES = src/eval/eval_text.c src/eval/maths_text.c
src/eval/eval_text.c: backends/gpu/text.sh families/eval/eval_format.h families/eval/eval_helpers.h Makefile
	$(AM_V_GEN)$(MKDIR_P) src/eval && (cd $(srcdir) && $(SHELL) backends/gpu/text.sh hcy__eval_text \
	    families/eval/eval_format.h families/eval/eval_helpers.h) > $@.tmp && mv $@.tmp $@
maths_texts = families/eval/eval_floats.h families/eval/eval_random.h
src/eval/maths_text.c: backends/gpu/text.sh families/eval/eval_polynomials.h families/eval/eval_maths.h \
    families/eval/eval_angles.h $(maths_texts) Makefile
	$(AM_V_GEN)$(MKDIR_P) src/eval && (cd $(srcdir) && $(SHELL) backends/gpu/text.sh hcy__maths_text $(maths_texts)) > $@.tmp && mv $@.tmp $@
EXTRA_DIST += build-aux/polynomials.py
CLEANFILES += src/eval/eval_text.c src/eval/maths_text.c
halcyoninclude_HEADERS += src/eval/halcyon/eval.h src/eval/halcyon/formula.h
dist_man_MANS += doc/halcyon_eval.3 doc/halcyon_formula.3
