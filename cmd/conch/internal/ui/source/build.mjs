// Type-checks the sources and builds the page: node build.mjs TOOLS OUT, where TOOLS is the folder of the installed packages.
// The same sources give the same bytes on every machine, so that a test can compare.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const [tools, out] = process.argv.slice(2).map((p) => resolve(p))
const source = dirname(fileURLToPath(import.meta.url))
const work = mkdtempSync(join(tmpdir(), 'conch-ui-'))
try {
  cpSync(join(source, 'src'), join(work, 'src'), { recursive: true })
  for (const name of ['tsconfig.json', 'package.json']) cpSync(join(source, name), join(work, name))
  symlinkSync(tools, join(work, 'node_modules'))
  const checked = spawnSync(join(tools, '.bin/tsc'), ['--noEmit', '-p', work], { stdio: 'inherit' })
  if (checked.status !== 0) throw new Error('the types are wrong')

  const { build } = createRequire(join(tools, 'x.js'))('esbuild')
  const made = await build({
    absWorkingDir: work, entryPoints: { app: 'src/main.tsx', early: 'src/early.ts', style: 'src/style.css' },
    bundle: true, splitting: true, minify: true, write: false, outdir: 'dist', format: 'esm', target: 'es2022', charset: 'utf8',
    jsx: 'automatic', jsxImportSource: 'preact', legalComments: 'none', metafile: true, define: { 'process.env.NODE_ENV': '"production"' },
  })
  rmSync(out, { recursive: true, force: true })
  mkdirSync(join(out, 'assets'), { recursive: true })
  let page = readFileSync(join(work, 'src/index.html'), 'utf8')
  const files = made.outputFiles.map((f) => ({ name: f.path.split('/').pop(), contents: f.contents }))
  // Their licences ask that copies carry these texts.
  const packages = new Set(Object.keys(made.metafile.inputs).map((p) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(p)?.[1]).filter(Boolean))
  const notices = [...packages].sort().map((name) => {
    const { version, license } = JSON.parse(readFileSync(join(tools, name, 'package.json'), 'utf8'))
    return `${name} ${version}, ${license}\n\n${readFileSync(join(tools, name, 'LICENSE'), 'utf8').trim()}\n`
  })
  files.push({ name: 'notices.txt', contents: Buffer.from('The page contains these packages of others.\n\n' + notices.join('\n\n')) })
  files.push({ name: 'icon.svg', contents: readFileSync(join(work, 'src/icon.svg')) })
  // What is loaded later is named by what loads it, so that a file has its name before those that name it.
  const later = files.filter((f) => /-[0-9A-Z]{8}\.js$/.test(f.name)).map((f) => f.name)
  const named = new Map()
  const text = new Map(files.map((f) => [f.name, /\.(js|css)$/.test(f.name) ? Buffer.from(f.contents).toString() : f.contents]))
  while (named.size < files.length) {
    const name = files.find((f) => !named.has(f.name) && later.every((l) => named.has(l) || l === f.name || !text.get(f.name).includes(l)))?.name
    if (!name) throw new Error('files load one another')
    let contents = text.get(name)
    for (const l of later) if (typeof contents === 'string' && l !== name) contents = contents.replaceAll(l, named.get(l))
    const hash = createHash('sha256').update(contents).digest('hex').slice(0, 12)
    named.set(name, name.replace(/(-[0-9A-Z]{8})?\./, `-${hash}.`))
    writeFileSync(join(out, 'assets', named.get(name)), contents)
    page = page.replaceAll('{' + name + '}', 'assets/' + named.get(name))
  }
  const needs = made.metafile.outputs['dist/app.js'].imports.filter((i) => i.kind === 'import-statement').map((i) => named.get(i.path.split('/').pop()))
  page = page.replace('{preload}', needs.map((name) => `<link rel="modulepreload" href="assets/${name}">`).join('\n'))
  writeFileSync(join(out, 'index.html'), page)
  console.error(readdirSync(join(out, 'assets')).join('\n'))
} finally {
  rmSync(work, { recursive: true, force: true })
}
