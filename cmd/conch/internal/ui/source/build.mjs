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
    absWorkingDir: work, entryPoints: { app: 'src/main.tsx', theme: 'src/theme.ts', style: 'src/style.css' },
    bundle: true, minify: true, write: false, outdir: 'dist', format: 'esm', target: 'es2022', charset: 'utf8',
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
  for (const { name, contents } of files) {
    const hashed = name.replace('.', '-' + createHash('sha256').update(contents).digest('hex').slice(0, 12) + '.')
    writeFileSync(join(out, 'assets', hashed), contents)
    page = page.replaceAll('{' + name + '}', 'assets/' + hashed)
  }
  writeFileSync(join(out, 'index.html'), page)
  console.error(readdirSync(join(out, 'assets')).join('\n'))
} finally {
  rmSync(work, { recursive: true, force: true })
}
