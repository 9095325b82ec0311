// Reads a JSON array of texts, writes one line for each: the counts of the reference, npm tiktoken@1.0.22, in the
// order of the encodings named on the command line. The golden counts are made anew by
//   npm install --prefix /tmp/reference tiktoken@1.0.22
//   NODE_PATH=/tmp/reference/node_modules go test ./internal/context/token -run Golden -update
const { get_encoding } = require("tiktoken");
const encodings = process.argv.slice(2).map((name) => get_encoding(name));
const texts = JSON.parse(require("fs").readFileSync(0, "utf8"));
const lines = texts.map((text) => encodings.map((e) => e.encode_ordinary(text).length).join("\t") + "\n");
process.stdout.write(lines.join(""));
