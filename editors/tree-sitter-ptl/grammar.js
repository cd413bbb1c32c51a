// The language of .ptl and .ptm files for tree-sitter, after "Grammar" in docs/language.md. It takes
// more than the language does, as an editor must: what is wrong is the server's to say.

const reserved = ["and", "else", "false", "fn", "for", "if", "inf", "let", "like", "not", "or", "return", "true"];
const declarations = ["config", "fn", "import", "layout", "machine", "model", "module", "names", "optimizer", "sweep", "train"];
const members = ["fn", "let", "param", "state"];
const directives = ["device", "forbid", "mesh", "offload", "overlap", "pipeline", "precision", "recompute", "replicate", "shard", "zero"];
const autos = ["allow", "keep", "limit", "mesh", "minimize"];
const sections = ["device", "host", "kernels", "level"];
const units = ["GB", "GiB", "KB", "KiB", "MB", "MiB", "TB", "TiB"];

const PREC = { or: 2, and: 3, not: 4, compare: 5, add: 6, multiply: 7, unary: 8, power: 9, call: 10 };

const some = (rule) => seq(rule, repeat(seq(",", rule)));
const list = (rule) => seq(some(rule), optional(","));

module.exports = grammar({
  name: "ptl",
  word: ($) => $.identifier,
  extras: ($) => [/\s/, $.line_comment, $.block_comment, ";"],
  // `x = a` may be followed by the statement `if c { … }`, or be `x = a if c else b`.
  conflicts: ($) => [[$._expression, $.conditional]],

  rules: {
    file: ($) => repeat(choice($.import, $.config, $.module, $.function, $.train, $.layout, $.names, $.sweep, $.machine)),

    import: ($) => seq("import", choice($.string, seq($.identifier, repeat(seq(".", $.identifier)))), optional(seq("as", field("alias", $.identifier)))),
    config: ($) => seq("config", "{", repeat($.entry), "}"),
    entry: ($) => seq(field("key", $.identifier), "=", field("value", $._expression)),

    module: ($) => seq(field("kind", choice("module", "model", "optimizer")), field("name", $.identifier), optional($.parameters), "{", repeat($._member), "}"),
    parameters: ($) => seq("(", optional(list($.parameter)), ")"),
    parameter: ($) => seq(field("name", $.identifier), optional(seq(":", $._type)), optional(seq("=", $._expression))),
    _member: ($) => choice($.declaration, $.submodule, $.let, $.function),
    declaration: ($) => prec.right(seq(choice("param", "state"), some(field("name", $.identifier)), ":", $._type, optional(seq("~", $._expression)),
      optional(choice("decay", "no_decay")), optional(seq("when", $._expression)))),
    submodule: ($) => seq(some(field("name", $.identifier)), ":", $._expression),
    let: ($) => seq("let", field("name", $.identifier), "=", $._expression),

    function: ($) => seq("fn", field("name", $.identifier), $.parameters, optional(seq("->", field("result", $._type))), $.block),
    block: ($) => seq("{", repeat($._statement), "}"),
    _statement: ($) => choice($.assignment, $.return, $.for, $.if),
    assignment: ($) => seq(some(field("name", $.identifier)), optional(seq(":", $._type)), "=", $._expression),
    return: ($) => prec.right(seq("return", some($._expression))),
    for: ($) => seq("for", field("variable", $.identifier), "in", $._expression, $.block),
    if: ($) => prec.right(seq("if", $._expression, $.block, repeat(seq("else", "if", $._expression, $.block)), optional(seq("else", $.block)))),

    _type: ($) => choice($.tensor_type, $.like_type, $.named_type, $.tuple_type),
    tensor_type: ($) => seq(optional(field("dtype", $.identifier)), "[", optional(list($.axis)), "]"),
    axis: ($) => seq(field("name", $.identifier), optional(seq("=", $._expression))),
    like_type: ($) => seq(optional(field("dtype", $.identifier)), "like", field("of", $.identifier)),
    named_type: ($) => $.identifier,
    tuple_type: ($) => seq("(", list($._type), ")"),

    _expression: ($) => choice($.conditional, $._binary_operand),
    conditional: ($) => seq($._binary_operand, "if", $._binary_operand, "else", $._expression),
    _binary_operand: ($) => choice($.binary, $.unary, $.call, $.index, $.attribute, $.tuple, $._parenthesized, $.list, $.quantity, $._number, $.string,
      $.word, $.identifier, $.boolean, $.infinity),
    binary: ($) => choice(
      ...[["or", PREC.or], ["and", PREC.and], ["+", PREC.add], ["-", PREC.add], ["*", PREC.multiply], ["/", PREC.multiply], ["%", PREC.multiply]]
        .concat(["==", "!=", "<", "<=", ">", ">="].map((o) => [o, PREC.compare]))
        .map(([o, p]) => prec.left(p, seq($._binary_operand, field("operator", o), $._binary_operand))),
      prec.right(PREC.power, seq($._binary_operand, field("operator", "**"), $._binary_operand)),
    ),
    unary: ($) => choice(prec(PREC.unary, seq("-", $._binary_operand)), prec(PREC.not, seq("not", $._binary_operand))),
    call: ($) => prec.left(PREC.call, seq(field("function", $._binary_operand), "(", optional(list($.argument)), ")")),
    index: ($) => prec.left(PREC.call, seq(field("value", $._binary_operand), "[", optional(list($.argument)), "]")),
    attribute: ($) => prec.left(PREC.call, seq($._binary_operand, ".", field("name", $.identifier))),
    argument: ($) => seq(optional(seq(field("name", $.identifier), "=")), choice($._expression, $.range)),
    range: ($) => prec.right(seq(optional($._expression), "..", optional($._expression))),
    tuple: ($) => seq("(", $._expression, ",", optional(list($._expression)), ")"),
    _parenthesized: ($) => seq("(", $._expression, ")"),
    list: ($) => seq("[", optional(list($._expression)), "]"),
    quantity: ($) => seq($._number, $.unit),
    unit: ($) => choice(...units),
    _number: ($) => choice($.integer, $.float),

    train: ($) => seq("train", field("model", $.identifier), "{", repeat(choice($.entry, $.lora, $.metrics, $.stop)), "}"),
    lora: ($) => seq("lora", "{", repeat(choice($.entry, $.selected)), "}"),
    metrics: ($) => seq("metrics", "{", repeat($.entry), "}"),
    stop: ($) => seq("stop", "{", repeat($.entry), "}"),
    selected: ($) => seq("on", "=", some($.path)),

    names: ($) => seq("names", field("family", $.identifier), "{", repeat(choice($.tensor, $.skip, $.keys, $.entry)), "}"),
    tensor: ($) => seq($.string, "=", choice($.piece, seq("concat", "(", some($.piece), ",", "over", "=", $._expression, ")"))),
    piece: ($) => seq($.open_path, optional(seq("[", some(seq($.identifier, "=", $.identifier)), "]")), optional(seq("as", $._expression))),
    open_path: ($) => seq($._open, repeat(seq(".", $._open))),
    _open: ($) => choice($.identifier, $.integer, seq("{", $.identifier, "}")),
    skip: ($) => seq("skip", $.string),
    keys: ($) => seq("config", "{", repeat($.key), "}"),
    key: ($) => seq(some(seq($.identifier, repeat(seq(".", $.identifier)))), "=", $._expression),

    sweep: ($) => seq("sweep", "{", repeat($.sweep_axis), "}"),
    sweep_axis: ($) => seq($.identifier, "=", choice($.list, seq($._expression, "..", $._expression))),

    machine: ($) => seq("machine", field("name", $.identifier), "{", repeat(choice($.section, $.fact)), "}"),
    section: ($) => seq(choice("device", "host", "kernels", "level"), optional(field("name", $.identifier)), "{", repeat($.fact), "}"),
    fact: ($) => seq(choice(field("kernel", $.string), seq(field("key", $.identifier), optional(field("of", $.identifier)))), "=",
      choice($.string, $.boolean, $.measure), optional($.source)),
    measure: ($) => prec.right(seq(optional("-"), choice($._number, $.infinity), optional($._measure_unit))),
    _measure_unit: ($) => prec.right(seq(choice($.identifier, $.unit), optional(seq("/", $.identifier)))),
    source: ($) => seq("from", $.string),

    layout: ($) => seq("layout", field("name", $.identifier), choice($.auto, seq("{", repeat(choice($.directive, $.entry)), "}"))),
    auto: ($) => seq("auto", "{", repeat(choice($.mesh_on, $.keep, $.allow, $.limit, $.minimize)), "}"),
    mesh_on: ($) => seq("mesh", "on", field("machine", choice($.identifier, $.string)), ":", $._level, repeat(seq("x", $._level))),
    _level: ($) => choice($.integer, $.word, $.identifier),
    keep: ($) => seq("keep", choice($.directive, $.entry)),
    allow: ($) => seq("allow", some($.allowed)),
    allowed: ($) => seq(field("word", $.identifier), choice(seq(choice("<=", ">=", "="), $._expression), seq("in", "(", list($._expression), ")"))),
    limit: ($) => seq("limit", field("word", $.identifier), $._expression),
    minimize: ($) => seq("minimize", some(field("word", $.identifier))),
    directive: ($) => prec.right(choice(
      seq("mesh", some($.entry)),
      seq("shard", some(field("axis", $.identifier)), optional(seq("of", some($.path))), "over", $._mesh, optional(seq("between", some($.path))), optional($.options)),
      seq("replicate", some($.path), optional(seq("over", $._mesh))),
      seq("pipeline", $.path, "over", $.identifier, optional($.options)),
      seq("zero", $._expression, "over", $._mesh, optional($.options)),
      seq("recompute", some($.path), optional($.options)),
      seq("precision", $.options),
      seq("offload", some($.path), optional(seq("of", some($.path))), "to", $.identifier, optional($.options)),
      seq("forbid", some($.identifier), optional(seq("on", some($.path)))),
      seq("device", some($.entry)),
      seq("overlap", some($.identifier), optional($.options)),
    )),
    _mesh: ($) => choice($.identifier, seq("(", some($.identifier), ")")),
    options: ($) => seq("{", repeat($.entry), "}"),
    path: ($) => prec.right(seq($._part, repeat(seq(".", $._part)))),
    _part: ($) => choice($.identifier, $.integer, "*", "**"),

    boolean: () => choice("true", "false"),
    infinity: () => "inf",
    identifier: () => /[\p{L}_][\p{L}\p{Nd}\p{Mn}_]*/,
    word: () => /[0-9][0-9_]*[\p{L}_][\p{L}\p{Nd}\p{Mn}_]*/,
    integer: () => choice(token(prec(1, /0[xX][0-9a-fA-F_]+/)), /[0-9][0-9_]*/),
    float: () => token(prec(1, choice(/[0-9][0-9_]*\.[0-9][0-9_]*([eE][+-]?[0-9][0-9_]*)?/, /[0-9][0-9_]*[eE][+-]?[0-9][0-9_]*/))),
    string: () => /"(\\.|[^"\\\n])*"/,
    line_comment: () => token(seq("//", /[^\n]*/)),
    block_comment: () => token(seq("/*", /[^*]*\*+([^/*][^*]*\*+)*/, "/")),
  },
});
