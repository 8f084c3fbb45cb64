import { escapeHtml as html } from '../lib/html.ts'

type Operation = {
  summary?: string
  description?: string
  tags?: string[]
  security?: Record<string, unknown>[]
  parameters?: Parameter[]
  requestBody?: Body
  responses?: Record<string, Body>
}
type Parameter = { name: string; in: string; required?: boolean; schema?: Schema }
/** A `$ref` is a response that is only the error envelope. */
type Body = { $ref?: string; description?: string; content?: Record<string, { schema?: Schema }> }
type Schema = {
  $ref?: string
  type?: string | string[]
  format?: string
  enum?: unknown[]
  const?: unknown
  anyOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  description?: string
}

const CALLERS: Record<string, string> = { secretKey: 'secret key', publicKey: 'public key', session: 'session' }

/** A page without scripts: all operations of the document, grouped by tag, with their fields. */
export function printReference(document: object) {
  const { paths = {}, components = {} } = document as {
    paths?: Record<string, Record<string, Operation>>
    components?: { schemas?: Record<string, Schema> }
  }
  const schemas = components.schemas ?? {}
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )
  const tags = [...new Set(operations.map(({ operation }) => operation.tags?.[0] ?? 'Other'))]
  const sections = tags.map((tag) => {
    const ours = operations.filter(({ operation }) => (operation.tags?.[0] ?? 'Other') === tag)
    return `<section><h2 id="${html(tag)}">${html(tag)}</h2>${ours.map((entry) => printOperation(entry, schemas)).join('')}</section>`
  })
  const links = tags.map((tag) => `<a href="#${html(tag)}">${html(tag)}</a>`).join(' ')
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Sterna API</title><style>${STYLE}</style></head>
<body><main><header><h1>Sterna API</h1><p>Machine-readable: <a href="/openapi.json">openapi.json</a></p><nav>${links}</nav></header>${sections.join('')}</main></body></html>`
}

function printOperation(
  { method, path, operation }: { method: string; path: string; operation: Operation },
  schemas: Record<string, Schema>,
) {
  const callers = (operation.security ?? []).map((entry) => CALLERS[Object.keys(entry)[0]!] ?? '').join(' or ') || 'no credentials'
  const inputs = (operation.parameters ?? []).map((parameter) =>
    printField(parameter.name, parameter.schema ?? {}, schemas, { required: parameter.required, where: parameter.in }),
  )
  const body = schemaOf(operation.requestBody, schemas)
  const fields = Object.entries(body?.properties ?? {}).map(([name, schema]) =>
    printField(name, schema, schemas, { required: body?.required?.includes(name), where: 'body' }),
  )
  const table = inputs.length + fields.length ? `<table><tbody>${[...inputs, ...fields].join('')}</tbody></table>` : ''
  const all = Object.entries(operation.responses ?? {})
  const responses = all
    .filter(([, response]) => !response.$ref)
    .map(
      ([status, response]) =>
        `<p class="answer"><b>${status}</b> <code>${html(printType(schemaOf(response, schemas), schemas))}</code></p>`,
    )
  const errors = all.filter(([status, response]) => response.$ref && status !== 'default').map(([status]) => status)
  if (errors.length) responses.push(`<p class="answer"><b>${errors.join(', ')}</b> <code>Error</code></p>`)
  return `<article><h3><span class="${method.toLowerCase()}">${method}</span> <code>${html(path)}</code></h3>
<p>${html(operation.summary ?? '')} <small>${callers}</small></p>${operation.description ? `<p>${html(operation.description)}</p>` : ''}${table}${responses.join('')}</article>`
}

function printField(
  name: string,
  schema: Schema,
  schemas: Record<string, Schema>,
  { required, where }: { required: boolean | undefined; where: string },
) {
  const notes = [where, required ? 'required' : 'optional', schema.description].filter(Boolean).join(', ')
  return `<tr><td><code>${html(name)}</code></td><td><code>${html(printType(schema, schemas))}</code></td><td>${html(notes)}</td></tr>`
}

const schemaOf = (body: Body | undefined, schemas: Record<string, Schema>) => resolve(body?.content?.['application/json']?.schema, schemas)

const resolve = (schema: Schema | undefined, schemas: Record<string, Schema>): Schema | undefined =>
  schema?.$ref ? schemas[schema.$ref.split('/').at(-1)!] : schema

function printType(schema: Schema | undefined, schemas: Record<string, Schema>): string {
  if (!schema) return 'empty'
  if (schema.$ref) return schema.$ref.split('/').at(-1)!
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  if (schema.anyOf) return schema.anyOf.map((option) => printType(option, schemas)).join(' | ')
  if (schema.type === 'array') return `${printType(schema.items, schemas)}[]`
  if (schema.properties)
    return `{ ${Object.entries(schema.properties)
      .map(([name, value]) => `${name}: ${printType(value, schemas)}`)
      .join(', ')} }`
  return schema.format ?? String(schema.type ?? 'any')
}

const STYLE = `:root{color-scheme:light dark;--line:light-dark(#d9e0e6,#2b3640);--soft:light-dark(#5b6b78,#9fb0bd);--accent:light-dark(#0b6e86,#5cc5dd)}
body{font:16px/1.6 system-ui,sans-serif;margin:0;background:light-dark(#fff,#0f161c);color:light-dark(#14202a,#e6edf2)}
main{max-width:56rem;margin:0 auto;padding:3rem 1.25rem}h1{margin:0}h2{margin:3rem 0 1rem}a{color:var(--accent)}nav a{margin-right:1rem}
article{border-top:1px solid var(--line);padding:1rem 0}h3{font-size:1rem;margin:0;overflow-wrap:anywhere}h3 span{color:var(--accent);display:inline-block;min-width:3.5rem}
small{color:var(--soft);margin-left:.5rem}table{width:100%;border-collapse:collapse;font-size:.9rem}td{padding:.25rem .75rem .25rem 0;vertical-align:top;overflow-wrap:anywhere}
code{font:.9em ui-monospace,monospace}.answer{margin:.25rem 0;color:var(--soft);overflow-wrap:anywhere}`
