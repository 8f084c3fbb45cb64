import { z } from 'zod'
import { usesOfAudience } from '../campaigns/draft/audience.ts'
import { RatePerMinute } from '../campaigns/draft/body.ts'
import { AUDIENCE_TYPES, CAMPAIGN_STATUSES } from '../campaigns/draft/campaign.ts'
import { readCondition } from '../conditions/schema.ts'
import { DomainName } from '../domains/sender-domains/name.ts'
import { SCOPES } from '../http/auth/scopes.ts'
import { parseAt } from '../http/core/validate.ts'
import { AppError, invalid } from '../lib/errors/errors.ts'
import { parseCidr } from '../lib/network/cidr.ts'
import type { WebhookTarget } from '../lib/network/webhook-target.ts'
import { refusalOfUrl } from '../lib/network/webhook-target.ts'
import { readAddress, readDomain } from '../lib/text/address.ts'
import { MASK } from '../lib/text/mask.ts'
import { usesOf } from '../segments/definition/check-condition.ts'
import { SEGMENT_TYPES } from '../segments/definition/segment.ts'
import { MAX_SEGMENT_NAME } from '../segments/save.ts'
import { readDesign } from '../templates/design/schema.ts'
import { Body, PreviewText, SenderName, Subject } from '../templates/rendering/content.ts'
import { MAX_NAME, TYPES } from '../templates/template.ts'
import { EndpointBody } from '../webhook-endpoints/endpoint.ts'
import { type Graph, MAX_GRAPH_STEPS, MAX_GRAPH_TRANSITIONS, violationsOf } from '../workflows/definition/graph.ts'
import { MAX_WORKFLOW_NAME } from '../workflows/definition/save.ts'
import { readStepConfig } from '../workflows/definition/step-config.ts'
import { readTrigger, TRIGGER_TYPES } from '../workflows/definition/trigger.ts'
import { usesOfGraph } from '../workflows/definition/uses.ts'
import { ALL_STEP_TYPES } from '../workflows/steps/kinds.ts'
import type { MovedTableName } from './project-tables.ts'

/** As JSON of PostgreSQL has it: by the names of columns. */
type FileRow = Record<string, unknown>

/** Refuses a value with the field that is wrong. */
type Rule = (value: unknown, column: string, row: FileRow) => unknown
type Rules = {
  columns: Record<string, Rule>
  /** Columns that follow from others: what the file says of them is ignored. */
  derived?: (row: FileRow) => FileRow
}

const as =
  (schema: z.ZodType): Rule =>
  (value, column) =>
    parseAt(schema, value, column)
const asOptional = (schema: z.ZodType) => as(schema.nullable())
const ifPresent =
  (rule: Rule): Rule =>
  (value, ...place) =>
    value === null ? undefined : rule(value, ...place)

/** In the one spelling under which addresses are stored. */
const StoredAddress = z.string().refine((text) => readAddress(text) === text, 'Not a valid email address.')
/** An address, or `@` and a domain. */
const StoredSuppression = z
  .string()
  .refine(
    (text) => (text.startsWith('@') ? readDomain(text.slice(1)) === text.slice(1) : readAddress(text) === text),
    'Not a valid email address or domain.',
  )
/** The text of a header of an email. */
const Line = z.string().regex(/^[^\r\n\0]*$/, 'Must not contain line breaks.')
const Json = z.record(z.string(), z.unknown())
const text = (max: number) => z.string().min(1).max(max)

const asDesign: Rule = (value, column) => readDesign(value, column)

/**
 * Whether this installation may call a host is decided when a request is made: the source may have allowed private networks. So every host may
 * stand in the file.
 */
const ANY_HOST: WebhookTarget = { allowed: ['0.0.0.0/0', '::/0'], ownHost: '' }

const asUrl: Rule = (value, column) => {
  const read = refusalOfUrl(parseAt(EndpointBody.shape.url, value, column), ANY_HOST)
  if ('refusal' in read) invalid(column, read.refusal)
}

const asTrigger: Rule = (value, _column, row) => {
  parseAt(Json, value, 'trigger_config')
  readTrigger(parseAt(z.enum(TRIGGER_TYPES), row.trigger_type, 'trigger_type'), value)
}

const StoredGraph = z.object({
  steps: z
    .array(
      z.object({
        id: z.uuid(),
        type: z.enum(ALL_STEP_TYPES),
        name: text(MAX_WORKFLOW_NAME),
        position: z.object({ x: z.number(), y: z.number() }),
        config: Json,
        templateId: z.uuid().nullable(),
        createdAt: z.iso.datetime(),
        updatedAt: z.iso.datetime(),
      }),
    )
    .max(MAX_GRAPH_STEPS),
  transitions: z
    .array(
      z.object({
        id: z.uuid(),
        fromStepId: z.uuid(),
        toStepId: z.uuid(),
        branch: text(100).nullable(),
        priority: z.int(),
        createdAt: z.iso.datetime(),
      }),
    )
    .max(MAX_GRAPH_TRANSITIONS),
})

/** A file without secrets has masks in their places, which a header could not contain. */
const withoutMasks = (config: Record<string, unknown>) => JSON.parse(JSON.stringify(config).replaceAll(MASK, 'masked')) as typeof config

const asGraph: Rule = async (value, column) => {
  const graph = parseAt(StoredGraph, value, column) as Graph
  for (const [index, { type, config, templateId }] of graph.steps.entries())
    await readStepConfig(
      { type, config: withoutMasks(config), storedTemplateId: templateId },
      { path: `${column}.steps.${index}.`, target: ANY_HOST, projectId: '' },
    )
  const [violation] = violationsOf(graph)
  if (!violation) return
  const { index, field, message } = violation
  invalid(index === undefined ? `${column}.${field}` : `${column}.transitions.${index}.${field}`, message)
}

const SENDER: Record<string, Rule> = {
  from_address: asOptional(StoredAddress),
  from_name: asOptional(SenderName),
  reply_to: asOptional(StoredAddress),
}
const CONTENT: Record<string, Rule> = {
  subject: as(Subject),
  preview_text: asOptional(PreviewText),
  body: as(Body),
  type: as(z.enum(TYPES)),
  design: ifPresent(asDesign),
  ...SENDER,
}

/** Not of inbound emails, which have a fingerprint: they are only shown. Nor of messages by SMTP, which have headers of their own. */
const isHeader =
  (schema: z.ZodType): Rule =>
  (value, column, { raw_form: rawForm, fingerprint }) =>
    (rawForm ?? fingerprint ?? null) === null ? parseAt(schema, value, column) : undefined

const usesOfCampaign = ({ audience_type: type, segment_id: segmentId, audience_condition: condition }: FileRow) => {
  if (type === 'SEGMENT' && typeof segmentId === 'string') return usesOfAudience({ type, segmentId })
  // Both were read by their rules.
  return usesOfAudience(
    type === 'FILTERED' && condition ? { type, condition: readCondition(condition, 'audience_condition') } : { type: 'ALL' },
  )
}

/** Values that the API would have refused, table by table. Other columns are bound by their types and by the constraints of the table. */
const ROW_RULES: Partial<Record<MovedTableName, Rules>> = {
  contacts: { columns: { email: as(StoredAddress), data: as(Json) } },
  former_addresses: { columns: { address: as(StoredAddress) } },
  consents: { columns: { details: as(Json) } },
  suppressions: { columns: { address: as(StoredSuppression) } },
  soft_bounces: { columns: { address: as(StoredAddress) } },
  events: { columns: { name: as(text(1_000)), data: as(Json) } },
  activities: { columns: { data: as(Json) } },
  templates: { columns: { name: as(text(MAX_NAME)), description: asOptional(z.string().max(1_000)), ...CONTENT } },
  template_versions: { columns: CONTENT },
  segments: {
    columns: {
      name: as(text(MAX_SEGMENT_NAME)),
      description: asOptional(z.string().max(500)),
      type: as(z.enum(SEGMENT_TYPES)),
      slug: as(z.string().regex(/^[a-z0-9_-]{1,200}$/, 'Not a valid slug.')),
      condition: (value, column, { type }) => (type === 'STATIC' ? parseAt(z.null(), value, column) : readCondition(value, column)),
    },
    derived: ({ condition }) => ({ uses: condition ? usesOf(readCondition(condition, 'condition')) : {} }),
  },
  contents: {
    columns: {
      subject: isHeader(Line),
      from_address: isHeader(Line),
      from_name: isHeader(Line.nullable()),
      reply_to: isHeader(Line.nullable()),
      headers: as(z.record(z.string().regex(/^[!-9;-~]+$/, 'Not a valid header name.'), Line)),
    },
  },
  emails: {
    columns: { to_address: as(Line.regex(/^[^\s<>]*$/u, 'Not a valid email address.')), to_name: asOptional(Line), vars: asOptional(Json) },
  },
  campaigns: {
    columns: {
      name: as(text(MAX_NAME)),
      description: asOptional(z.string().max(1_000)),
      ...CONTENT,
      from_address: as(StoredAddress),
      status: as(z.enum(CAMPAIGN_STATUSES)),
      audience_type: as(z.enum(AUDIENCE_TYPES)),
      audience_condition: (value, column, { audience_type: type }) =>
        value === null && type !== 'FILTERED' ? undefined : readCondition(value, column),
      rate_per_minute: asOptional(RatePerMinute),
      started_by: asOptional(Json),
      frozen_audience: asOptional(Json),
    },
    derived: (row) => ({ uses: usesOfCampaign(row) }),
  },
  campaign_audit: { columns: { details: as(Json) } },
  workflows: {
    columns: {
      name: as(text(MAX_WORKFLOW_NAME)),
      description: asOptional(z.string().max(2_000)),
      trigger_config: asTrigger,
    },
  },
  workflow_graphs: {
    columns: { graph: asGraph },
    // Read by its rule.
    derived: ({ graph }) => ({ uses: usesOfGraph(graph as Graph) }),
  },
  workflow_executions: {
    columns: { context: as(Json), event: asOptional(Json) },
  },
  workflow_step_executions: { columns: { input: asOptional(Json), output: asOptional(Json) } },
  domains: {
    columns: {
      domain: as(DomainName),
      link_host: as(DomainName.nullable()),
      dkim_selector: as(z.string().regex(/^[a-z0-9-]{1,63}$/i, 'Not a valid selector.')),
      dkim_public_key: as(z.base64().max(4_096)),
      dkim_private_key_sealed: as(z.base64().max(4_096)),
    },
  },
  webhook_endpoints: {
    columns: {
      url: asUrl,
      description: asOptional(z.string().max(500)),
      events: as(EndpointBody.shape.events),
    },
  },
  api_keys: {
    columns: {
      kind: as(z.enum(['secret', 'public'])),
      name: as(text(100)),
      scopes: asOptional(z.array(z.enum(SCOPES)).min(1)),
      sender_domains: asOptional(z.array(z.string().refine((domain) => readDomain(domain) === domain, 'Not a valid domain.'))),
      networks: asOptional(z.array(z.string().refine((network) => parseCidr(network) !== null, 'Must be an IP address or a CIDR.'))),
    },
  },
}

/**
 * Reads a row by the rules of its table. Returns the text that is stored: that of the file, unless columns follow from others. Fails with the
 * table, the row and the field.
 */
export async function checkRow(table: MovedTableName, number: number, text: string): Promise<string> {
  const rules = ROW_RULES[table]
  if (!rules) return text
  const refuse = (field: string, message: string): never => {
    throw new Error(`Nothing was imported: row ${number} of ${table} in the file, field ${field}: ${message}`)
  }
  const row = parseRow(text) ?? refuse('(all)', 'Not a JSON object.')
  try {
    for (const [column, rule] of Object.entries(rules.columns)) if (Object.hasOwn(row, column)) await rule(row[column], column, row)
    return rules.derived ? JSON.stringify({ ...row, ...rules.derived(row) }) : text
  } catch (err) {
    if (!(err instanceof AppError)) throw err
    const [issue] = err.extra.errors ?? []
    return refuse(issue?.field ?? '(unknown)', issue?.message ?? err.message)
  }
}

function parseRow(text: string): FileRow | undefined {
  try {
    return Json.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}
