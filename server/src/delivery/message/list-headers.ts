import type { EmailType } from '../rules/may-send.ts'

type Sent = { projectId: string; sourceType: string; type: EmailType; headers: Record<string, string> }

/**
 * Headers that tell automatic responders, and filters, that no person wrote the email: out-of-office replies to a campaign are of no use. A
 * header of the content wins.
 */
export function listHeaders({ projectId, sourceType, type, headers }: Sent, host: string): Record<string, string> {
  const own = new Set(Object.keys(headers).map((name) => name.toLowerCase()))
  const added = {
    ...(type !== 'TRANSACTIONAL' && {
      Precedence: 'bulk',
      'X-Auto-Response-Suppress': 'OOF, AutoReply',
      'List-Id': `<${projectId}.${host}>`,
    }),
    ...(sourceType !== 'CAMPAIGN' && { 'Auto-Submitted': 'auto-generated' }),
  }
  return Object.fromEntries(Object.entries(added).filter(([name]) => !own.has(name.toLowerCase())))
}
