// Colours of a text: comments, strings, numbers, keywords, types and calls of C, Python, MLIR and YAML.

const WORDS = {
  c: "break case const continue default do else enum extern for goto if inline register restrict return sizeof static struct switch typedef union volatile while",
  py: "and as assert break class continue def elif else for from global if import in is lambda not or pass raise return try while with yield None True False",
  mlir: "func return module affine scf arith memref for to step iter_args yield if else",
  yaml: "true false null",
};
const TYPES = "void char short int long float double signed unsigned bool size_t i1 i8 i16 i32 i64 f32 f64 index memref u?int(?:8|16|32|64)_t";
const LINE_COMMENT = { c: "//.*", py: "#.*", mlir: "//.*", yaml: "#.*" };

// The language of a file by its ending.
export function languageOf(name) {
  const ending = /\.(\w+)$/.exec(name)?.[1];
  return { py: "py", mlir: "mlir", yaml: "yaml", yml: "yaml" }[ending] ?? "c";
}

const patterns = new Map();

function patternOf(language) {
  if (!patterns.has(language)) {
    const any = (words) => `\\b(?:${words.split(" ").join("|")})\\b`;
    const parts = {
      comment: `${LINE_COMMENT[language]}${language === "c" ? "|/\\*[^]*?(?:\\*/|$)" : ""}`,
      string: language === "py" ? `"""[^]*?(?:"""|$)|"(?:\\\\.|[^"\\\\\\n])*"?|'(?:\\\\.|[^'\\\\\\n])*'?` : `"(?:\\\\.|[^"\\\\\\n])*"?|'(?:\\\\.|[^'\\\\\\n])*'?`,
      directive: language === "c" ? "^[ \\t]*#[a-z]+.*" : language === "py" ? "^[ \\t]*@[\\w.]+" : "(?!)",
      key: language === "yaml" ? "^[ \\t-]*[\\w.-]+(?=:)|[\\w.-]+(?=:[ ])" : any(WORDS[language]),
      type: language === "yaml" ? any(WORDS.yaml) : any(TYPES),
      number: "\\b(?:0[xX][0-9a-fA-F]+|\\d+(?:\\.\\d*)?(?:[eE][+-]?\\d+)?)[uUlLf]*\\b",
      call: "\\b[A-Za-z_]\\w*(?=\\s*\\()",
    };
    patterns.set(language, new RegExp(Object.entries(parts).map(([name, text]) => `(?<${name}>${text})`).join("|"), "gm"));
  }
  return patterns.get(language);
}

// The text as pieces [kind, text]; what has no colour is of kind "".
export function pieces(text, language) {
  const found = [];
  let end = 0;
  for (const match of text.matchAll(patternOf(language))) {
    if (match.index > end) {
      found.push(["", text.slice(end, match.index)]);
    }
    found.push([Object.keys(match.groups).find((name) => match.groups[name] !== undefined), match[0]]);
    end = match.index + match[0].length;
  }
  if (end < text.length) {
    found.push(["", text.slice(end)]);
  }
  return found;
}

// The text as lines of elements.
export function highlight(text, language) {
  const lines = [[]];
  for (const [kind, words] of pieces(text, language)) {
    words.split("\n").forEach((part, k) => {
      if (k) {
        lines.push([]);
      }
      if (part) {
        const piece = document.createElement("span");
        piece.className = kind && `code-${kind}`;
        piece.textContent = part;
        lines.at(-1).push(piece);
      }
    });
  }
  return lines;
}
