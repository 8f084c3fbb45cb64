import { z } from 'zod'
import { columns, type RowOf } from '../../db/columns.ts'
import { type Db, many, maybeOne } from '../../db/index.ts'
import { Timestamp } from '../../http/core/validate.ts'
import { type DnsRecord, linkRecord, type RecordFinding, recordsFor, type SendingMethod } from './records.ts'

const STATUSES = ['pending', 'verified', 'failed'] as const

const DomainRecord = z.object({
  type: z.enum(['TXT', 'CNAME']),
  name: z.string(),
  value: z.string(),
  purpose: z.enum(['dkim', 'dmarc', 'link']),
  required: z.boolean().describe('The domain is verified when all required records are found.'),
  status: z
    .enum(['pending', 'found', 'missing', 'mismatch', 'unknown', 'sandbox'])
    .describe(
      '`pending`: not looked up yet. `unknown`: DNS did not reply. `sandbox`: not looked up, because this installation sends no email.',
    ),
  found: z.array(z.string()).describe('Values published under this name.'),
})

const commonFields = {
  status: z.enum(STATUSES),
  verified: z.boolean(),
  verifiedBy: z.enum(['dns', 'ses', 'sandbox']).nullable(),
  notice: z.string().nullable().describe('Set when the domain counts as verified only because this installation sends no email.'),
  records: z.array(DomainRecord),
  lastCheckedAt: Timestamp.nullable(),
  lastError: z.string().nullable(),
  linkHost: z.string().nullable().describe('Host of the links of emails from this domain, while it is verified.'),
  linkHostStatus: z.enum(STATUSES).nullable(),
  linkHostError: z.string().nullable(),
}

export const Domain = z
  .object({
    id: z.uuid(),
    domain: z.string(),
    ...commonFields,
    dkimTokens: z.array(z.string()),
    projectId: z.uuid(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    verifiedAt: Timestamp.nullable(),
  })
  .meta({ id: 'Domain' })

export const DomainCheck = z.object({ domain: z.string(), tokens: z.array(z.string()), ...commonFields }).meta({ id: 'DomainCheck' })

/** The private key is not among them. */
export const DOMAIN_COLUMNS = columns('domains', '', [
  ...(['id', 'projectId', 'domain', 'status', 'verifiedBy', 'verifiedAt'] as const),
  ...(['dkimSelector', 'dkimPublicKey', 'sesTokens', 'sesZone'] as const),
  ...(['findings', 'lastError', 'lastCheckedAt', 'createdAt', 'updatedAt'] as const),
  ...(['linkHost', 'linkHostStatus', 'linkHostFinding', 'linkHostError'] as const),
])
export type DomainRow = RowOf<typeof DOMAIN_COLUMNS> & {
  status: (typeof STATUSES)[number]
  verifiedBy: 'dns' | 'ses' | 'sandbox' | null
  sesTokens: string[]
  findings: RecordFinding[]
  linkHostStatus: (typeof STATUSES)[number] | null
  linkHostFinding: RecordFinding | null
}

/** Above the limit of `add.ts`. */
const LIST_LIMIT = 1_000

export const findDomain = (db: Db, projectId: string, id: string) =>
  maybeOne<DomainRow>(db)`select ${DOMAIN_COLUMNS} from domains where project_id = ${projectId} and id = ${id}`

export const listDomains = (db: Db, projectId: string) =>
  many<DomainRow>(db)`select ${DOMAIN_COLUMNS} from domains where project_id = ${projectId} order by domain limit ${LIST_LIMIT}`

const SANDBOX_NOTICE =
  'Verified only because this installation sends no email. Once it has a transport, the records must be published and are checked.'

function showCommonFields(row: DomainRow, method: SendingMethod) {
  const inSandbox = row.verifiedBy === 'sandbox'
  return {
    status: row.status,
    verified: row.status === 'verified',
    verifiedBy: row.verifiedBy,
    notice: inSandbox ? SANDBOX_NOTICE : null,
    records: [
      ...recordsFor(row, method).map((record) => {
        const finding = row.findings.find(({ type, name }) => type === record.type && name === record.name)
        const shown = showRecord(record, finding)
        return inSandbox ? { ...shown, status: 'sandbox' as const } : shown
      }),
      ...(row.linkHost ? [showRecord(linkRecord(row.linkHost, method.publicUrl), row.linkHostFinding)] : []),
    ],
    lastCheckedAt: row.lastCheckedAt?.toISOString() ?? null,
    lastError: row.lastError,
    linkHost: row.linkHost,
    linkHostStatus: row.linkHostStatus,
    linkHostError: row.linkHostError,
  }
}

const showRecord = ({ isMatchedBy, ...record }: DnsRecord, finding: RecordFinding | null | undefined) => ({
  ...record,
  status: finding?.status ?? ('pending' as const),
  found: finding?.found ?? [],
})

const tokensOf = (row: DomainRow, { usesSes }: SendingMethod) => (usesSes ? row.sesTokens : [row.dkimSelector])

export const showDomain = (row: DomainRow, method: SendingMethod): z.output<typeof Domain> => ({
  id: row.id,
  domain: row.domain,
  ...showCommonFields(row, method),
  dkimTokens: tokensOf(row, method),
  projectId: row.projectId,
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
  verifiedAt: row.verifiedAt?.toISOString() ?? null,
})

export const showCheck = (row: DomainRow, method: SendingMethod): z.output<typeof DomainCheck> => ({
  domain: row.domain,
  tokens: tokensOf(row, method),
  ...showCommonFields(row, method),
})

/** For the doctor: verified domains whose last check did not find their records. */
export const listFailingDomains = (db: Db, limit: number) =>
  many<{ domain: string; lastError: string | null }>(db)`
    select domain, last_error as "lastError" from domains where status = 'verified' and failures > 0 order by last_checked_at desc limit ${limit}
  `
