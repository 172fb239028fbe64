// Compiles Ledger.sol, and the same contract with an intent map instead of the bitmap, which the tests compare with it.
//
//   node compile.js <folder with node_modules> <folder for the output>
//
// It writes Ledger.json and MapLedger.json, and Ledger.sum with the SHA-256 of them and of what they were made from, as sha256sum
// prints them. The output depends on the source, this file and the compiler alone.
'use strict';
const crypto = require('crypto');
const fs = require('fs');
const path = require('path');
const { createRequire } = require('module');

const [compilers, out] = process.argv.slice(2);
if (!out) {
  console.error('usage: node compile.js <folder with node_modules> <folder for the output>');
  process.exit(2);
}
const solc = createRequire(path.resolve(compilers, 'node_modules', '_'))('solc');

// What a ledger keeps that has one slot for each intent. Everything else is the same.
const map = [
  ['mapping(address owner => mapping(uint256 word => uint256 bits)) taken', 'mapping(address owner => mapping(uint256 sequence => uint256 over)) taken'],
  ['return taken[owner][sequence >> 8] & (1 << (sequence & 0xff)) != 0;', 'return taken[owner][sequence] != 0;'],
  ['taken[owner][sequence >> 8] |= 1 << (sequence & 0xff);', 'taken[owner][sequence] = 1;'],
];

function compile(source) {
  const answer = JSON.parse(solc.compile(JSON.stringify({
    language: 'Solidity',
    sources: { 'Ledger.sol': { content: source } },
    settings: {
      evmVersion: 'london', // every chain that has EIP-1559, which the driver needs
      viaIR: true,
      optimizer: { enabled: true, runs: 1000000 },
      metadata: { appendCBOR: false, bytecodeHash: 'none' }, // else a comment would change the bytes
      outputSelection: { '*': { '': ['ast'], '*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode'] } },
    },
  })));
  const complaints = (answer.errors || []).filter((e) => e.severity !== 'info');
  if (complaints.length > 0) {
    console.error(complaints.map((e) => e.formattedMessage).join('\n'));
    process.exit(1);
  }
  return answer;
}

// immutables returns where the values of each immutable stand in the code, by its name.
function immutables(answer, references) {
  const names = {};
  (function walk(node) {
    if (node === null || typeof node !== 'object') return;
    if (node.nodeType === 'VariableDeclaration' && node.mutability === 'immutable') names[node.id] = node.name;
    Object.values(node).forEach(walk);
  })(answer.sources['Ledger.sol'].ast);
  const places = {};
  for (const id of Object.keys(references)) {
    places[names[id]] = references[id].map((r) => r.start).sort((a, b) => a - b);
  }
  return Object.fromEntries(Object.keys(places).sort().map((name) => [name, places[name]]));
}

function write(name, source) {
  const answer = compile(source);
  const c = answer.contracts['Ledger.sol'].Ledger;
  fs.writeFileSync(path.join(out, name + '.json'), JSON.stringify({
    compiler: solc.version(),
    abi: c.abi,
    creation: '0x' + c.evm.bytecode.object,
    code: '0x' + c.evm.deployedBytecode.object,
    immutables: immutables(answer, c.evm.deployedBytecode.immutableReferences),
  }, null, 1) + '\n');
}

const source = fs.readFileSync(path.join(__dirname, 'Ledger.sol'), 'utf8');
write('Ledger', source);
let mapped = source;
for (const [from, to] of map) {
  if (mapped.split(from).length !== 2) {
    console.error('compile.js: not once in Ledger.sol: ' + from);
    process.exit(1);
  }
  mapped = mapped.replace(from, to);
}
write('MapLedger', mapped);

const made = ['Ledger.json', 'MapLedger.json'].map((name) => [name, out]);
const from = ['Ledger.sol', 'compile.js', 'package-lock.json'].map((name) => [name, __dirname]);
fs.writeFileSync(path.join(out, 'Ledger.sum'), [...from, ...made].map(([name, folder]) =>
  crypto.createHash('sha256').update(fs.readFileSync(path.join(folder, name))).digest('hex') + '  ' + name + '\n').join(''));
