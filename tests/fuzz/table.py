# SPDX-License-Identifier: MIT
"""Which public functions are fuzzed, and which are not and why. `test_fuzz_table` holds it true.

A name is that of module and function without the package. A few methods stand beside the functions:
those of classes that compute from their arguments alone, such as the tokenisers.
"""

FUZZED = {
    "test_fuzz_counts": (
        "ngram_counts.check_code_size ngram_counts.checked_contexts ngram_counts.checked_ids "
        "ngram_counts.discounted ngram_counts.encode_texts ngram_counts.fitted "
        "ngram_counts.neighbours ngram_counts.text_starts ngrams.KneserNey ngrams.KneserNey.fit "
        "ngrams.KneserNey.log_probs ngrams.KneserNey.next_probs ngrams.UnigramModel.fit "
        "ngrams.UnigramModel.log_probs two_sided.TwoSidedNGram two_sided.TwoSidedNGram.fit "
        "two_sided.TwoSidedNGram.log_probs"
    ),
    "test_fuzz_generation": (
        "generation.check_sampling generation.decoding_rule generation.filter_probs "
        "generation.generate in_context.answer_log_probs in_context.calibrate "
        "in_context.greedy_answer in_context.greedy_hits in_context.tokens_that_go_on "
        "infilling.fill_middle rewriting.generate_from text_to_text.predict unmasking.least "
        "unmasking.unmask"
    ),
    "test_fuzz_masks": (
        "attention.attention attention.check_mask dropout.dropout embeddings.check_attention_mask "
        "embeddings.check_ids embeddings.look_up head_search.reachable masks.additive_mask "
        "masks.bidirectional_mask masks.causal_mask masks.cross_mask masks.padding_mask "
        "masks.prefix_lm_mask positions.relative_position_bucket positions.sinusoidal_positions"
    ),
    "test_fuzz_objectives": (
        "objectives.causal_lm_loss objectives.causal_targets objectives.corrupt_mlm "
        "objectives.masked_lm_loss objectives.note_settings objectives.random_windows "
        "seq2seq.prefix_lm_loss seq2seq.prefix_seq2seq_loss seq2seq.prefix_targets "
        "seq2seq.seq2seq_loss seq2seq.span_corruption_loss seq2seq.split_prefixes t5.shift_right "
        "text_to_text.collate text_to_text.encode_examples text_to_text.encode_text "
        "text_to_text.mixture_loss text_to_text.task_loss training.learning_rate"
    ),
    "test_fuzz_questions": (
        "blanks.blank_log_probs blanks.left_log_probs blanks.rescored_log_probs evaluation.bits "
        "evaluation.in_parts evaluation.masked_accuracy evaluation.masked_log_probs "
        "evaluation.perplexity evaluation.taken evaluation.token_losses evaluation.top_k_hits "
        "flops.bert_flops flops.gpt_flops flops.next_token_flops flops.t5_flops "
        "infilling.middle_log_probs questions.bert_span_log_probs questions.check_span "
        "questions.gpt_span_log_probs questions.hide_span questions.sentinel_log_probs "
        "questions.t5_span_log_probs shortlists.apply_bayes shortlists.length_log_likelihoods "
        "shortlists.repeated shortlists.right_log_likelihoods"
    ),
    "test_fuzz_sizes": (
        "figure_style.style_of hub_files.check_names quantization.quantize_rows "
        "quantized_checkpoints.float_state quantized_checkpoints.rounded_state "
        "resume.check_settings sharding.key sharding.keyed_generator sharding.micro_batches "
        "specifications.gigabytes specifications.load_bytes specifications.millions "
        "specifications.training_bytes train_config.check_config train_options.checked "
        "trainable.last_layers"
    ),
    "test_fuzz_sources": (
        "hidden_markov.HiddenMarkovSource hidden_markov.HiddenMarkovSource.backward "
        "hidden_markov.HiddenMarkovSource.evidence hidden_markov.HiddenMarkovSource.forward "
        "hidden_markov.HiddenMarkovSource.sample hidden_markov.random_source "
        "hidden_markov.stationary_start oracles.blank_oracle oracles.causal_oracle "
        "oracles.entropy_rate oracles.masked_oracle span_oracle.span_oracle"
    ),
    "test_fuzz_spans": (
        "infilling.check_order infilling.move_middle infilling.restore_middle "
        "infilling_loss.fim_batch infilling_loss.random_cuts span_noise.count_spans "
        "span_noise.find_spans span_noise.geometric_noise span_noise.random_noise "
        "span_noise.random_segments spans.apply_spans spans.corrupt_spans spans.cut_out "
        "spans.restore_spans"
    ),
    "test_fuzz_statistics": (
        "head_search.head_scores head_search.null_scores head_search.relation_mask "
        "head_search.repeated_rows head_search.search_heads intervals.bootstrap_interval "
        "intervals.wilson_interval isoflop.isoflop_curve isoflop.isoflop_minimum isoflop.loss_at "
        "isoflop.power_law oracles.gap_interval probes.control_labels probes.fit_probe "
        "probes.probe_hits resampling.bootstrap_laws resampling.percentiles resampling.r_squared "
        "resampling.residuals scaling.best_split scaling.check_runs scaling.fit_kaplan "
        "scaling.fit_law senses.cosines senses.mean_cosine senses.neighbour_hits"
    ),
    "test_fuzz_texts": (
        "cleaning.clean_play cleaning.mend cleaning.plain_text datasets.film_split "
        "datasets.play_split live.error_html play_baselines.majority_share "
        "play_baselines.name_scores play_baselines.name_spans play_scenes.core "
        "plot_or_review.split_sentences prompts.Template.prompt prompts.draw_balanced "
        "prompts.encode_answers prompts.encode_task prompts.relabel rouge.rouge_l rouge.rouge_n "
        "rouge.words tables.bars_html tables.table_html tables.tokens_html tables.visible "
        "timeline.check_steps timeline.decimal_year timeline.lineage_size"
    ),
    "test_fuzz_tokens": (
        "classification.in_batches classification.length_batches classification.pad_texts "
        "classification.pool_states inside.encode_words inside.pad_rows inside.pool "
        "pair_sampling.find_segments pair_sampling.next_sentence_pairs "
        "pair_sampling.sentence_order_pairs pair_sampling.true_pairs pairs.pack_ids "
        "pairs.pack_pairs pairs.segment_ids_of pairs.truncate_pair "
        "subwords.SubwordTokenizer.decode subwords.SubwordTokenizer.encode "
        "subwords.SubwordTokenizer.split subword_training.train_subwords tagging.tag_words "
        "tokenization.CharTokenizer tokenization.CharTokenizer.decode "
        "tokenization.CharTokenizer.encode tokenization.CharTokenizer.from_text "
        "tokenization.checked_ids tuning_examples.collate"
    ),
}
"""Test module -> names of what it fuzzes, parted by blanks."""

LEFT_OUT_MODULES = {
    "agreement": "trains two models side by side",
    "check": "reads and runs the checkers of the exercises",
    "checkpoints": "reads and writes files",
    "datasets": "loads the fetched texts; the two splits by name are fuzzed",
    "diagrams": "draws on axes",
    "explore": "makes widgets",
    "figure_style": "sets matplotlib's style; the look-up is fuzzed",
    "fine_tuning": "reads models of transformers",
    "grids": "draws on axes",
    "hub_cache": "asks the network",
    "hub_files": "reads and writes files; the comparison of names is fuzzed",
    "huggingface": "reads and writes files",
    "layers": "draws weights of a module in place",
    "live": "makes widgets; the HTML of an error is fuzzed",
    "lora": "changes a model in place",
    "named_texts": "asks the network",
    "paths": "touches files",
    "play_labels": "reads the fetched plays",
    "play_names": "reads the fetched plays",
    "playground": "makes widgets",
    "plotting": "draws on axes",
    "pruning": "changes a model in place",
    "published_models": "reads published weights",
    "published_tokenizers": "reads published files",
    "report": "prints, and glues values to a page",
    "shapes": "draws on axes",
    "sources": "fetches files",
    "stand_ins": "reads published weights",
    "step": "changes a model in place",
    "tasks": "reads the fetched texts",
    "train": "the command line",
    "train_data": "reads files",
    "train_loop": "trains and writes files",
    "train_setup": "reads files and builds a run",
    "train_state": "reads and writes files",
    "two_sided": "a class alone; its methods are fuzzed",
}
"""Module -> why its functions are left out, those above excepted."""

LEFT_OUT = {
    "classification.classification_loss": "deals out batches from pass to pass: has a state",
    "classification.predict_classes": "in_batches, fuzzed, with a trained classifier",
    "classification.read_states": "one call of a model",
    "classification.text_features": "in_batches, fuzzed, with a model",
    "evaluation.evaluating": "a context manager that switches a model",
    "families.places": "an iterator over the package's own tables of names",
    "huggingface_config.family_of": "a look-up of a model's class",
    "huggingface_config.read_config": "its own unit tests change every option of every family",
    "huggingface_config.write_config": "reads a model's options",
    "infilling_loss.fim_loss": "fim_batch and random_windows, fuzzed, with a model",
    "inside.look_inside": "one pass of a model, block by block",
    "next_sentence.next_sentence_loss": "its drawing and packing are fuzzed; needs a BERT",
    "next_sentence.pack_segments": "pack_ids, fuzzed, on segments",
    "play_baselines.change_rules": "fits rules to the plays' own pairs, of one sentence at least",
    "play_baselines.mark_unseen": "reads the fetched plays",
    "play_baselines.name_rules": "reads the fetched plays",
    "play_baselines.speaker_rules": "reads the headings of the plays' own scenes",
    "play_scenes.is_proper": "reads the fetched plays",
    "play_scenes.load_scenes": "reads the fetched plays",
    "play_scenes.training_words": "reads the fetched plays",
    "plot_or_review.load_plot_or_review": "reads the fetched texts",
    "pronouns.blank_leans": "asks a model of transformers",
    "pronouns.compare_groups": "draws 10,000 resamples: 0.1 s a case",
    "pronouns.sentences": "fills the book's own templates",
    "quantization.quantize_layers": "changes a model in place",
    "quantization.stored_bytes": "adds up a model's tensors",
    "quantized_checkpoints.load_quantized": "reads a file of the disk",
    "quantized_checkpoints.save_quantized": "writes a file to the disk",
    "resume.load_checkpoint": "reads a file of the disk",
    "resume.save_checkpoint": "writes a file to the disk",
    "senses.load_senses": "reads the book's own file",
    "specifications.build": "builds a model of a published size",
    "specifications.load_table": "reads the book's own file",
    "specifications.parameters_of": "builds a model of a published size",
    "specifications.shape_of": "builds a model of a published size",
    "subwords.load_tokenizer": "reads a file of the disk",
    "t5_attention.linear": "draws weights of a layer",
    "tagging.tagging_loss": "deals out batches from pass to pass: has a state",
    "timeline.draw_lineage": "draws on axes of matplotlib",
    "timeline.load_timeline": "reads the book's own file",
    "train_config.describe_options": "takes no argument",
    "train_config.load_config": "reads a file; check_config, which checks it, is fuzzed",
    "train_objectives.summed_cross_entropy": "one call of torch",
    "train_kinds.make_objective": "wraps functions that are fuzzed around a tokeniser",
    "train_objectives.n_predicted": "one sum over a batch that is checked before",
    "train_options.describe": "words for the package's own options",
    "train_options.option": "declares a field of the package's own options",
    "train_tokenizer.eos_of": "a look-up of a tokeniser's role",
    "train_tokenizer.first_characters": "an iterator over a stream, which it uses up",
    "train_tokenizer.make_tokenizer": "train_subwords, fuzzed, with the command's options",
    "train_tokenizer.sentinels_of": "a look-up of a tokeniser's role",
    "trainable.count_parameters": "adds up a model's tensors",
    "trainable.load_trained": "changes a model in place",
    "trainable.swapped": "changes a model in place",
    "trainable.train_only": "changes a model in place",
    "trainable.trained_state": "collects a model's tensors",
    "training.fit": "trains a model in place",
    "training.make_optimizer": "wraps a model's parameters",
    "training.set_learning_rate": "changes an optimiser in place",
    "training.train_step": "trains a model in place",
    "tuning_examples.encode_classes": "calls a tokeniser of transformers",
    "tuning_examples.encode_span": "calls a tokeniser of transformers",
    "tuning_examples.encode_tags": "calls a tokeniser of transformers",
}
"""Function -> why it is left out."""
