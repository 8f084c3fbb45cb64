import type { WebhookDelivery } from '@sterna/sdk'
import { Fact, Facts } from '../../ui/dialog/peek-panel.tsx'
import { Button } from '../../ui/form/button.tsx'
import { CodeBlock, CopyText } from '../../ui/text/copy-field.tsx'
import { Status } from '../../ui/text/status.tsx'
import { Time } from '../../ui/text/time.tsx'

/** A delivery with its attempts and its payload. Without `onReplay` it cannot be replayed. */
export function DeliveryPeek({ delivery, onReplay, busy }: { delivery: WebhookDelivery; onReplay?: () => void; busy: boolean }) {
  const { id, type, status, attempts, nextAttemptAt, payload } = delivery
  return (
    <div className="space-y-4">
      <Facts>
        <Fact label="Type">{type}</Fact>
        <Fact label="Status">
          <Status kind="delivery" status={status} />
        </Fact>
        <Fact label="Id">
          <CopyText value={id} label="Id" mono />
        </Fact>
        {nextAttemptAt && (
          <Fact label="Next attempt">
            <Time value={nextAttemptAt} />
          </Fact>
        )}
      </Facts>
      {onReplay && (
        <Button size="sm" busy={busy} onClick={onReplay}>
          Replay
        </Button>
      )}
      <section>
        <h3 className="mb-1.5 font-medium text-ui">Attempts</h3>
        {attempts.length === 0 && <p className="text-muted text-ui">None yet.</p>}
        <ol className="divide-y divide-line rounded-lg border border-line text-ui empty:hidden">
          {attempts.map((attempt) => (
            <li key={String(attempt.at)} className="flex flex-wrap justify-between gap-x-4 px-3 py-2">
              <span className={attempt.error ? 'text-danger' : ''}>{attempt.error ?? `Status ${attempt.status}`}</span>
              <span className="text-muted">
                {attempt.durationMs} ms, <Time value={attempt.at} />
              </span>
            </li>
          ))}
        </ol>
        <p className="mt-1.5 text-muted text-xs">The body of an answer is not kept.</p>
      </section>
      {payload && <CodeBlock title="Payload" label="Payload" code={JSON.stringify(payload, null, 2)} />}
    </div>
  )
}
