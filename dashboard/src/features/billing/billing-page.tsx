import type { Result } from '@sterna/sdk'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../client/api.ts'
import { consumptionQuery, invoicesQuery, limitsQuery, storeLimits } from '../../data/billing.ts'
import { configQuery } from '../../data/installation.ts'
import { canManage, useProject } from '../../projects/current.ts'
import { Dialog, DialogButtons } from '../../ui/dialog/dialog.tsx'
import { toast } from '../../ui/dialog/toast.tsx'
import { Button } from '../../ui/form/button.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Form } from '../../ui/form/form.tsx'
import { Input } from '../../ui/form/input.tsx'
import { Banner } from '../../ui/notice/banner.tsx'
import { explain } from '../../ui/notice/explain.ts'
import { Card } from '../../ui/page/card.tsx'
import { ErrorState } from '../../ui/page/error-state.tsx'
import { Page } from '../../ui/page/page.tsx'
import { Table } from '../../ui/table/table.tsx'
import { Count, formatCount, formatPercent } from '../../ui/text/count.tsx'
import { Time } from '../../ui/text/time.tsx'
import { formatMoney } from './money.ts'
import { CATEGORIES, CATEGORY_WORDS, type Category, type Limits, reachedOn, readCap } from './usage.ts'

type Consumption = Result<'GET /users/@me/projects/{id}/billing-consumption'>

/** Usage and caps work without a billing provider; invoices need one. */
export function BillingPage() {
  const project = useProject()
  const limits = useQuery(limitsQuery(project.id))
  const consumption = useQuery(consumptionQuery(project.id))
  const hasBilling = useQuery(configQuery).data?.features.billing.enabled ?? false
  const failed = [limits, consumption].find(({ isLoadingError }) => isLoadingError)
  if (failed) return <ErrorState error={failed.error} retry={failed.refetch} />
  return (
    <Page title="Billing and usage" loading={!limits.data || !consumption.data}>
      {limits.data && consumption.data && (
        <>
          <Reached limits={limits.data} />
          <Usage limits={limits.data} consumption={consumption.data} />
          {hasBilling ? <Account consumption={consumption.data} /> : <NoProvider />}
        </>
      )}
    </Page>
  )
}

function Reached({ limits }: { limits: Limits }) {
  const blocked = CATEGORIES.filter((category) => limits[category].isBlocked)
  if (blocked.length === 0) return null
  return (
    <Banner tone="danger">
      {blocked
        .map((category) => `The cap of ${CATEGORY_WORDS[category].name.toLowerCase()} is reached: ${CATEGORY_WORDS[category].whenReached}`)
        .join(' ')}
    </Banner>
  )
}

function Usage({ limits, consumption }: { limits: Limits; consumption: Consumption }) {
  const { period, usage } = consumption
  const isSandbox = useQuery(configQuery).data?.features.email.sandbox ?? false
  return (
    <Card
      title="This period"
      description={
        <>
          <DayOf value={period.start} /> to <DayOf value={period.end} /> (UTC). <Count value={usage.total} /> emails accepted, without those
          that were skipped and tests.{isSandbox && ' Sandbox emails are not counted.'}
        </>
      }
      flush
    >
      <ul className="divide-y divide-line">
        {CATEGORIES.map((category) => (
          <CategoryRow key={category} category={category} state={limits[category]} period={period} />
        ))}
      </ul>
    </Card>
  )
}

function DayOf({ value }: { value: string }) {
  return (
    <time dateTime={value}>
      {new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'long', timeZone: 'UTC' }).format(new Date(value))}
    </time>
  )
}

type CategoryRowProps = { category: Category; state: Limits[Category]; period: Consumption['period'] }

function CategoryRow({ category, state, period }: CategoryRowProps) {
  const { name, what } = CATEGORY_WORDS[category]
  const soon = reachedOn(state, period, Date.now())
  return (
    <li className="grid grid-cols-1 items-center gap-x-6 gap-y-2 px-4 py-3 sm:grid-cols-[10rem_minmax(0,1fr)_auto]">
      <div>
        <p className="font-medium text-ui">{name}</p>
        <p className="text-muted text-xs">{what}</p>
      </div>
      <div className="min-w-0">
        <p className="text-ui">
          {/* No link: the list of emails also has tests, skipped emails and those of the sandbox. */}
          <Count value={state.usage} />
          {state.limit === null ? (
            <span className="text-muted">, no cap</span>
          ) : (
            <span className="text-muted tabular-nums">
              {' '}
              of {formatCount(state.limit)} ({formatPercent((state.percentage ?? 0) / 100)})
            </span>
          )}
        </p>
        {state.limit !== null && <UsageBar label={`${name}, used of the cap`} state={state} />}
        {state.isBlocked ? (
          <p className="mt-1 text-danger text-xs">Reached. {CATEGORY_WORDS[category].whenReached}</p>
        ) : (
          soon && (
            <p className={`mt-1 text-xs ${state.isWarning ? 'text-warning' : 'text-muted'}`}>
              Reached <Time value={soon} /> at this pace.
            </p>
          )
        )}
      </div>
      <ChangeCap category={category} state={state} />
    </li>
  )
}

function UsageBar({ label, state: { percentage, isWarning, isBlocked } }: { label: string; state: Limits[Category] }) {
  const share = Math.min(100, percentage ?? 0)
  return (
    // biome-ignore lint/a11y/useSemanticElements: browsers do not let the parts of a meter element be styled alike
    <div
      role="meter"
      aria-label={label}
      aria-valuenow={Math.round(share)}
      aria-valuemin={0}
      aria-valuemax={100}
      className="mt-1 h-1.5 overflow-hidden rounded-full bg-line"
    >
      <div
        className={`h-full origin-left ${isBlocked ? 'bg-danger-fill' : isWarning ? 'bg-warning' : 'bg-accent'}`}
        style={{ transform: `scaleX(${share / 100})` }}
      />
    </div>
  )
}

function ChangeCap({ category, state }: { category: Category; state: Limits[Category] }) {
  const project = useProject()
  const [open, setOpen] = useState(false)
  const { name, whenReached } = CATEGORY_WORDS[category]
  const mayChange = canManage(project)
  return (
    <>
      <Button
        size="sm"
        disabled={!mayChange}
        title={mayChange ? undefined : 'Only owners and admins can change caps'}
        onClick={() => setOpen(true)}
      >
        {state.limit === null ? 'Set a cap…' : state.isBlocked ? 'Raise the cap…' : 'Change…'}
        <span className="sr-only">for {name.toLowerCase()}</span>
      </Button>
      <Dialog
        title={`Cap of ${name.toLowerCase()}`}
        description={`Emails in one period. When it is reached: ${whenReached} Owners get an email at 80% and at 100%.`}
        open={open}
        onOpenChange={setOpen}
      >
        <CapForm category={category} state={state} onDone={() => setOpen(false)} />
      </Dialog>
    </>
  )
}

function CapForm({ category, state, onDone }: { category: Category; state: Limits[Category]; onDone: () => void }) {
  const project = useProject()
  const queries = useQueryClient()
  const [typed, setTyped] = useState(state.limit === null ? '' : String(state.limit))
  const cap = readCap(typed)
  const change = useMutation({
    mutationFn: () => api.projects.updateBillingLimits(project.id, { [category]: cap }),
    onSuccess: async (changed) => {
      await storeLimits(queries, project.id, changed)
      toast(cap === null ? 'The cap was removed' : `The cap is ${formatCount(cap!)}`)
      onDone()
    },
  })
  const isBelow = typeof cap === 'number' && cap <= state.usage
  return (
    <Form error={change.error} onSubmit={() => change.mutate()}>
      <Field
        name={category}
        label="Emails per period"
        hint={
          cap === undefined
            ? 'A whole number above 0, or nothing for no cap.'
            : isBelow
              ? `${formatCount(state.usage)} are used already: it is reached at once.`
              : 'Empty: no cap.'
        }
      >
        <Input
          inputMode="numeric"
          value={typed}
          autoComplete="off"
          aria-invalid={cap === undefined || undefined}
          onChange={(event) => setTyped(event.target.value)}
        />
      </Field>
      <DialogButtons>
        <Button onClick={onDone}>Cancel</Button>
        <Button type="submit" variant="primary" busy={change.isPending} disabled={cap === undefined}>
          {cap === null ? 'Remove the cap' : 'Save the cap'}
        </Button>
      </DialogButtons>
    </Form>
  )
}

function NoProvider() {
  return (
    <p className="text-muted text-ui">
      This installation has no billing provider: there are no invoices, and caps protect you from sending more than you meant to.
    </p>
  )
}

/** Subscription and invoices, at the provider. */
function Account({ consumption: { credits, upcomingInvoice } }: { consumption: Consumption }) {
  const project = useProject()
  const mayManage = canManage(project)
  const hasSubscription = project.subscription !== null
  const leave = useMutation({
    mutationFn: async () => (await (hasSubscription ? api.projects.billingPortal(project.id) : api.projects.checkout(project.id))).url,
    onSuccess: (url) => window.location.assign(url),
    onError: (error) => toast(explain(error), { tone: 'danger' }),
  })
  return (
    <>
      <Card
        title="Subscription"
        description={
          upcomingInvoice ? (
            <>
              The next invoice, <DayOf value={upcomingInvoice.periodEnd} />:{' '}
              {formatMoney(upcomingInvoice.amountDue, upcomingInvoice.currency)} so far.
              {credits !== null && credits > 0 && ` ${formatMoney(credits, upcomingInvoice.currency)} of credit.`}
            </>
          ) : (
            'There is no subscription yet.'
          )
        }
        actions={
          <Button
            disabled={!mayManage}
            title={mayManage ? undefined : 'Ask an owner or admin'}
            busy={leave.isPending}
            onClick={() => leave.mutate()}
          >
            {hasSubscription ? 'Open the billing portal' : 'Subscribe'}
          </Button>
        }
      />
      {mayManage && hasSubscription && <Invoices />}
    </>
  )
}

function Invoices() {
  const project = useProject()
  const query = useQuery(invoicesQuery(project.id))
  if (query.isLoadingError) return <ErrorState title="Could not load the invoices" error={query.error} retry={query.refetch} />
  const found = query.data
  if (!found) return null
  if (found.invoices.length === 0) return <p className="text-muted text-ui">There is no invoice yet.</p>
  return (
    <>
      {found.hasUnpaidInvoices && <Banner tone="warning">{found.unpaidInvoices.length} invoices are not paid.</Banner>}
      <Table
        caption="Invoices"
        rows={found.invoices}
        rowKey={({ id }) => id}
        columns={[
          { heading: 'Invoice', cell: ({ number, id }) => number ?? id },
          { heading: 'Date', cell: ({ createdAt }) => <DayOf value={createdAt} /> },
          { heading: 'Amount', cell: ({ total, currency }) => formatMoney(total, currency) },
          { heading: 'State', cell: ({ status }) => status ?? '–' },
          {
            cell: ({ url, number }) =>
              url && (
                <a href={url} className="link" rel="noreferrer" target="_blank" aria-label={`Open invoice ${number ?? ''}`}>
                  Open
                </a>
              ),
          },
        ]}
      />
    </>
  )
}
