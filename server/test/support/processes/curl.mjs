#!/usr/bin/env node
// Stands in for curl on a machine without it: the options that the guides use.
import { readFileSync } from 'node:fs'

const headers = {}
let url, body, form
let failsOnErrors = false
for (let at = 2, args = process.argv; at < args.length; at++) {
  if (args[at] === '-H') {
    const [name, ...value] = args[++at].split(':')
    headers[name] = value.join(':').trim()
  } else if (args[at] === '-d') body = args[++at]
  else if (args[at] === '-F') {
    const [name, ...value] = args[++at].split('=')
    const text = value.join('=')
    form ??= new FormData()
    if (text.startsWith('@')) form.set(name, new Blob([readFileSync(text.slice(1))]), text.slice(1))
    else form.set(name, text)
  } else if (args[at].startsWith('-')) failsOnErrors ||= args[at].includes('f')
  else url = args[at]
}
const answer = await fetch(url, { headers, ...(body || form ? { method: 'POST', body: body ?? form } : {}) })
if (failsOnErrors && !answer.ok) process.exit(22)
process.stdout.write(await answer.text())
