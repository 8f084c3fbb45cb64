import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useApi } from '../../projects/current.ts'
import { Dialog } from '../../ui/dialog/dialog.tsx'
import { Button } from '../../ui/form/button.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Form } from '../../ui/form/form.tsx'
import { Input } from '../../ui/form/input.tsx'
import { Time } from '../../ui/text/time.tsx'
import { REASONS } from './suppressions-query.ts'

/** Says whether an email to an address would be sent, and which rule says so. */
export function TestAddress() {
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button size="sm" onClick={() => setOpen(true)}>
        Test an address
      </Button>
      <Dialog title="Test an address" description="Would an email to it be sent now? Nothing is sent." open={open} onOpenChange={setOpen}>
        <TestForm />
      </Dialog>
    </>
  )
}

function TestForm() {
  const api = useApi()
  const test = useMutation({ mutationFn: (email: string) => api.suppressions.check({ email }) })
  return (
    <div className="space-y-4">
      <Form error={test.error} onSubmit={(value) => test.mutate(value('email'))}>
        <Field name="email" label="Address">
          <Input type="email" required autoComplete="off" placeholder="ada@example.com" />
        </Field>
        <Button type="submit" variant="primary" busy={test.isPending}>
          Test
        </Button>
      </Form>
      {test.data && <Verdict check={test.data} />}
    </div>
  )
}

type Check = Awaited<ReturnType<ReturnType<typeof useApi>['suppressions']['check']>>

function Verdict({ check: { email, wouldSend, rules } }: { check: Check }) {
  return (
    <section aria-label="Result" role="status" className="rounded-lg border border-line p-3 text-ui">
      <p className="wrap-break-word font-medium">{email}</p>
      <Answer what="Transactional email" would={wouldSend.transactional} />
      <Answer what="Marketing email" would={wouldSend.marketing} />
      <ul className="mt-2 text-muted">
        {rules.map(({ rule, message, suppression }) => (
          <li key={rule}>
            {message}
            {suppression && (
              <>
                {' '}
                {REASONS[suppression.reason]}, <Time value={suppression.createdAt} />.
              </>
            )}
          </li>
        ))}
        {rules.length === 0 && <li>No suppression applies to it.</li>}
      </ul>
    </section>
  )
}

function Answer({ what, would }: { what: string; would: boolean }) {
  return (
    <p>
      {what}: <span className={would ? 'text-good' : 'text-danger'}>{would ? 'would be sent' : 'would not be sent'}</span>
    </p>
  )
}
