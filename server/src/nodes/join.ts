import { sql } from 'kysely'
import { type Pool, scalar, type Tx, transact } from '../db/index.ts'
import type { TransportKind } from '../lib/config.ts'
import { ConfigError } from '../lib/errors/config-error.ts'
import type { Log } from '../lib/process/log.ts'
import { listPresent, type Presence } from './presence.ts'

type Options = {
  db: Pool
  log: Log
  /** Undefined: this node adopts the transport of the installation. */
  transport: TransportKind | undefined
  announce(): Promise<Presence>
  /** Updates the rows that depend on the transport, in the transaction that changes it. */
  follow(tx: Tx, transport: TransportKind): Promise<unknown>
}

/** Longest wait for other nodes that start at the same time. */
const WAIT_MS = 15_000

/**
 * Adds this node to the installation. A node with another transport would send to the wrong place and verify domains by the wrong proof, so
 * it is refused while other nodes run; alone, it changes the transport of the installation. The row of `instance` stays locked until this
 * node is visible to the next: of two nodes with different transports that start together, one is refused.
 */
export async function joinNodes({ db, log, transport, announce, follow }: Options): Promise<Presence> {
  let presence: Presence | undefined
  try {
    await transact(db, async (tx) => {
      const stored = await lockTransport(tx)
      if (transport && transport !== stored) await changeTransport(tx, { log, stored, transport, follow })
      presence = await announce()
    })
    return presence!
  } catch (err) {
    await presence?.leave()
    throw err
  }
}

async function lockTransport(tx: Tx) {
  await sql`select set_config('lock_timeout', ${`${WAIT_MS}`}, true), set_config('statement_timeout', ${`${WAIT_MS}`}, true)`.execute(tx)
  return scalar<TransportKind | null>(tx)`select transport from instance for update`
}

type Change = Pick<Options, 'log' | 'follow'> & { stored: TransportKind | null; transport: TransportKind }

async function changeTransport(tx: Tx, { log, stored, transport, follow }: Change) {
  const others = stored ? await listPresent(tx) : []
  if (stored && others.length) throw new ConfigError(refusal({ stored, transport, others }))
  await sql`update instance set transport = ${transport}`.execute(tx)
  await follow(tx, transport)
  if (stored)
    log.warn({ from: stored, to: transport }, 'the transport of this installation has changed; only domains verified for it may send')
}

const SETTINGS: Record<TransportKind, string> = {
  sandbox: 'neither SMTP_URL nor SES_REGION (sandbox)',
  smtp: 'SMTP_URL',
  ses: 'SES_REGION',
}

const refusal = ({ stored, transport, others }: { stored: TransportKind; transport: TransportKind; others: string[] }) =>
  `This node has ${SETTINGS[transport]}, but the installation runs with ${SETTINGS[stored]}. Running nodes: ${others.join(', ')}.\n` +
  'Give every node the same transport settings. To change the transport, stop all nodes first, then start them with the new settings.'
