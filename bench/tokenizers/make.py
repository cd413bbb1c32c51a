"""Makes small tokenizers of every kind, documents, and what the libraries that define the formats make of them.

make.py OUT [--small]: OUT gets the files of tokenizers, docs.json (documents, in base64) and vectors.json (for each
tokenizer the tokens of each document, those with what the post-processor adds, and the text of the tokens).
--small makes the set that is in the repository.
"""

import base64, glob, io, json, os, random, sys, unicodedata

import sentencepiece
import tiktoken
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from tiktoken_ext import openai_public

OUT, SMALL = sys.argv[1], "--small" in sys.argv
VOCAB = 420 if SMALL else 3000
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
R = random.Random(1)

CL100K = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN = CL100K.replace(r"\p{N}{1,3}", r"\p{N}")
O200K = "|".join(
    [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+",
    ]
)

PIECES = [
    "func main() {\n\tfmt.Println(\"héllo\", x[i:j], 0x1F, 3.14e-10)\n}\n", "I'll say it's HE'S don't WE'VE 'ſ you'Re can'T",
    "日本語のテキストと漢字、ひらがな。カタカナ！", "中文字符测试，包括标点。", "한국어 텍스트 가나다 각", "नमस्ते दुनिया, क्षत्रिय", "العربية نص ١٢٣",
    "👩‍👩‍👧‍👦 👍🏽 🏳️‍🌈 🇩🇪🇫🇷 ☕️ e\u0301 a\u0308\u0323 \u1e69 s\u0323\u0307 ﬁ ﬃ ① Ⅷ ½ ㎏ Å Ω", "a" + "\u0301" * 45 + "b" + "\u0323\u0301" * 20,
    "   leading\t\ttabs  and    spaces   ", "\n\n\n  \n\t\n", " \u00a0\u2003\u3000\u2028x\u2029\u0085y\u200b\u200d\ufeff", "x" * 130, "12345678901234567890 1,234,567.89",
    "İstanbul ẞ ß ǅ ŒUVRE Straße ΑΣ Σ", "<|end|>text<|end|> <|end |> [MASK] x [MASK]y<mask> <s>hi</s> word wordy aword Word", "#include <stdio.h>\r\nint a;\r\n", "\u0000\u0001\u001f\u007f\ufffd",
    "\U000e0067\ue000\U0001f9ff \u0378", "a\u200cb می‌خواهم", "Hello, world! How are you doing? $5.00 @user #tag http://a.b/c?d=e&f=g", "\u2581under\u2581 _score ▁",
    "def f(a, *, b=None) -> int:\n    return a if b is None else b  # 注釈\n",
]


def character():
    """A random character; none of the marks and signs of which the libraries have older or newer tables."""
    while True:
        c = chr(R.choice([R.randrange(32, 127), R.randrange(0xA0, 0x600), R.randrange(0x900, 0xD7FF), R.randrange(0x1F300, 0x1FAFF), 32, 10, 0x301]))
        if ord(c) < 0x600 or unicodedata.category(c)[0] not in "MPC" and not 0x1C80 <= ord(c) < 0x1D00:
            return c


def documents():
    docs = [b"", b" ", b"\n", b"a"] + [p.encode() for p in PIECES]
    for _ in range(12 if SMALL else 1500):
        docs.append(R.choice(["", " ", "\n"]).join(R.choice(PIECES)[R.randrange(3):] for _ in range(R.randrange(1, 3 if SMALL else 6))).encode())
    for _ in range(8 if SMALL else 1000):  # random characters, and bytes that are no UTF-8
        docs.append("".join(character() for _ in range(R.randrange(20 if SMALL else 80))).encode())
        b = bytearray(R.choice(PIECES).encode()[:90])
        for _ in range(R.randrange(1, 6)):
            b[R.randrange(len(b))] = R.randrange(256)
        docs.append(bytes(b))
    if not SMALL:
        for f in sorted(glob.glob(ROOT + "/**/*.go", recursive=True))[::7] + sorted(glob.glob(ROOT + "/docs/*.md")):
            docs.append(open(f, "rb").read()[:20000])
    return docs


def corpus():
    return [open(f).read() for f in sorted(glob.glob(ROOT + "/docs/*.md"))[:4 if SMALL else 40]] + PIECES * 3


DOCS, CORPUS = documents(), corpus()
TEXTS = [d.decode("utf-8", errors="replace") for d in DOCS]
VECTORS = {}


def record(name, encode, special, decode, docs=TEXTS):
    ids = [encode(d) for d in docs]
    VECTORS[name] = {"ids": ids, "special": [special(d) for d in docs[:30]] if special else None, "text": [decode(x) for x in ids]}


def hugging(name, tok, trainer=None):
    if trainer:
        tok.train_from_iterator(CORPUS, trainer)
    if name.startswith("added"):
        tok.add_tokens([AddedToken("word", single_word=True), AddedToken("HELLO", normalized=True), AddedToken("héllo", normalized=False)])
        tok.add_special_tokens([AddedToken("<mask>", lstrip=True, normalized=False), AddedToken("[MASK]", rstrip=True, normalized=False), AddedToken("<|end|>", normalized=False)])
    path = f"{OUT}/{name}.json"
    tok.save(path, pretty=False)
    tok = Tokenizer.from_file(path)
    record(f"{name}.json", lambda d: tok.encode(d, add_special_tokens=False).ids, lambda d: tok.encode(d).ids, lambda x: tok.decode(x, skip_special_tokens=False))


def bpe_trainer(**k):
    return trainers.BpeTrainer(vocab_size=VOCAB, show_progress=False, **k)


ALPHABET = pre_tokenizers.ByteLevel.alphabet()


def byte_level(name, pre, normalizer=None, ignore=False, post=None):
    tok = Tokenizer(models.BPE(ignore_merges=ignore))
    tok.pre_tokenizer, tok.decoder = pre, decoders.ByteLevel()
    if normalizer:
        tok.normalizer = normalizer
    tok.post_processor = processors.ByteLevel(trim_offsets=False)
    hugging(name, tok, bpe_trainer(initial_alphabet=ALPHABET, special_tokens=["<|end|>", "<s>"]))
    return tok


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), behavior, invert), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def byte_fallback():
    tok = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    tok.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tok.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tok.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 1)])
    return tok


def word_piece(name, lower, accents=None):
    tok = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=60))
    tok.normalizer = normalizers.BertNormalizer(lowercase=lower, strip_accents=accents)
    tok.pre_tokenizer, tok.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece(cleanup=lower)
    tok.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    hugging(name, tok, trainers.WordPieceTrainer(vocab_size=VOCAB, show_progress=False, special_tokens=["[UNK]", "[CLS]", "[SEP]", "[MASK]"]))


def sentence_piece(name, **k):
    model = io.BytesIO()
    lines = [l for c in CORPUS for l in c.split("\n") if 0 < len(l) < 2000]
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=model, vocab_size=VOCAB + 400, minloglevel=2, num_threads=1, hard_vocab_limit=False, **k)
    open(f"{OUT}/{name}.model", "wb").write(model.getvalue())
    sp = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    record(f"{name}.model", lambda d: sp.encode(d), None, lambda x: sp.decode(x), DOCS)
    return model.getvalue()


def charsmap(model):
    from sentencepiece import sentencepiece_model_pb2 as pb

    m = pb.ModelProto()
    m.ParseFromString(model)
    return m.normalizer_spec.precompiled_charsmap


def tik(name, tok):
    """Ranks of the merges of a byte-level BPE, with the pattern and the number of special tokens of tiktoken."""
    back = {c: b for b, c in enumerate(byte_chars())}
    d = json.loads(tok.to_str())["model"]
    ranks = {bytes([b]): b for b in range(256)}
    for a, b in d["merges"]:
        ranks.setdefault(bytes(back[c] for c in a + b), len(ranks))
    with open(f"{OUT}/{name}.tiktoken", "wb") as f:
        for t, r in ranks.items():
            f.write(base64.b64encode(t) + b" %d\n" % r)
    def plain(*_a, **_k):
        return ranks
    openai_public.load_tiktoken_bpe = openai_public.data_gym_to_mergeable_bpe_ranks = plain
    k = openai_public.ENCODING_CONSTRUCTORS["gpt2" if name == "gpt2" else name + "_base"]()
    e = tiktoken.Encoding(name, pat_str=k["pat_str"], mergeable_ranks=ranks, special_tokens={})
    record(f"{name}.tiktoken", e.encode_ordinary, None, e.decode)


def byte_chars():
    """The characters that stand for the bytes, in their order."""
    plain = set(range(33, 127)) | set(range(161, 173)) | set(range(174, 256))
    out, n = [], 256
    for b in range(256):
        out.append(chr(b if b in plain else n))
        n += b not in plain
    return out


def main():
    os.makedirs(OUT, exist_ok=True)
    gpt = byte_level("gpt2", pre_tokenizers.ByteLevel(add_prefix_space=False))
    byte_level("llama3", split(CL100K), ignore=True)
    byte_level("added", split(QWEN), normalizers.NFC())
    hugging("llama2", byte_fallback(), bpe_trainer(limit_alphabet=120, special_tokens=["<unk>", "<s>", "</s>"] + ["<0x%02X>" % i for i in range(256)]))
    word_piece("bert", True)
    t5 = sentence_piece("unigram", model_type="unigram", character_coverage=0.98, **({"normalization_rule_name": "identity"} if SMALL else {}))
    sentence_piece("bpe", model_type="bpe", byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False, user_defined_symbols=["<s>hi", "  ", "héllo"], character_coverage=0.98)
    uni = Tokenizer(models.Unigram())
    uni.normalizer = normalizers.Sequence([normalizers.Precompiled(charsmap(t5)) if not SMALL else normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    uni.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    uni.decoder = decoders.Metaspace(prepend_scheme="first")
    hugging("addedunigram", uni, trainers.UnigramTrainer(vocab_size=VOCAB, show_progress=False, unk_token="<unk>", special_tokens=["<unk>", "<s>"]))
    tik("cl100k", gpt)
    if not SMALL:
        byte_level("o200k", split(O200K))
        byte_level("prefix", pre_tokenizers.ByteLevel(add_prefix_space=True), normalizers.NFKD())
        word_piece("bertcased", False)
        word_piece("bertaccents", True, False)
        tik("o200k", gpt)
        tik("p50k", gpt)
        tik("gpt2", gpt)
        sentence_piece("unigrambytes", model_type="unigram", byte_fallback=True, character_coverage=0.98, user_defined_symbols=["HE", "héllo", "▁x"])
        sentence_piece("bpenfkc", model_type="bpe", normalization_rule_name="nmt_nfkc_cf")
        sentence_piece("suffix", model_type="unigram", treat_whitespace_as_suffix=True, add_dummy_prefix=True)
        for i, (n, p) in enumerate([
            (normalizers.Sequence([normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents()]), pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=True)])),
            (normalizers.Strip(), pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation("merged_with_previous")])),
            (normalizers.Nmt(), pre_tokenizers.Sequence([pre_tokenizers.Digits(), pre_tokenizers.Punctuation("contiguous")])),
            (normalizers.NFKC(), pre_tokenizers.Split(Regex(r"\w+$|[aeiou]++|\d{2}+"), "merged_with_next")),
            (None, pre_tokenizers.Sequence([pre_tokenizers.CharDelimiterSplit("e"), pre_tokenizers.Split(" ", "removed"), pre_tokenizers.FixedLength(7)])),
            (None, pre_tokenizers.Split(Regex(r"\p{Han}|[^\s]+"), "removed", True)),
        ]):
            affix = {"end_of_word_suffix": "</w>"} if i % 2 else {"continuing_subword_prefix": "##"} if i == 2 else {}
            tok = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=i > 3, **affix))
            if n:
                tok.normalizer = n
            tok.pre_tokenizer = p
            tok.decoder = decoders.BPEDecoder() if i % 2 else decoders.WordPiece()
            hugging(f"mixed{i}", tok, bpe_trainer(special_tokens=["<unk>"], limit_alphabet=150, **affix))
        level = Tokenizer(models.WordLevel(unk_token="<unk>"))
        level.pre_tokenizer = pre_tokenizers.Whitespace()
        hugging("words", level, trainers.WordLevelTrainer(vocab_size=VOCAB, show_progress=False, special_tokens=["<unk>"]))
    json.dump([base64.b64encode(d).decode() for d in DOCS], open(f"{OUT}/docs.json", "w"))
    if SMALL:  # the text is compared in the full set
        for v in VECTORS.values():
            v["special"] = v["special"] and v["special"][:3]
            v["text"] = v["text"][:3]
    json.dump(VECTORS, open(f"{OUT}/vectors.json", "w"), separators=(",", ":"), sort_keys=True)


main()
