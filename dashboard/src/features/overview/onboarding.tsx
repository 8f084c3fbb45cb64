import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ChevronDown, CircleCheck, CircleDashed } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { useProject } from '../../projects/current.ts'
import { usePreference } from '../../session/preferences.ts'
import { configQuery, meQuery } from '../../session/queries.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { CodeBlock } from '../../ui/copy-field.tsx'
import { curl } from '../../ui/curl.ts'
import { FirstEmail } from './first-email.tsx'
import { domainsQuery, setupStateQuery, trackedNamesQuery } from './queries.ts'
import { PURPOSES, type Purpose, type Step, type StepName, stepsOf } from './steps.ts'

const WAITING_MS = 2_000

/** Undefined until all facts are known. */
export function useSteps(): Step[] | undefined {
  const { id } = useProject()
  const config = useQuery(configQuery).data
  const [purpose] = usePurpose()
  const domains = useQuery(domainsQuery(id)).data
  // Both wait for something that happens elsewhere: in the worker, and in the user's app.
  const state = useQuery({
    ...setupStateQuery(id),
    refetchInterval: ({ state: { data } }) => (data?.hasSentEmail ? false : WAITING_MS),
  }).data
  const tracked = useQuery({ ...trackedNamesQuery(id), refetchInterval: ({ state: { data } }) => (data?.length ? false : WAITING_MS) }).data
  if (!state || !domains || !tracked || !config) return undefined
  return stepsOf({ ...state, domains, hasTrackedEvent: tracked.length > 0, isSandbox: config.features.email.sandbox, purpose })
}

const usePurpose = () => usePreference<Purpose | undefined>(`onboarding-purpose.${useProject().id}`, undefined)

/** The steps to the first real email. Gone when all are done. */
export function Onboarding({ steps }: { steps: Step[] }) {
  const { id } = useProject()
  const [isFolded, setIsFolded] = usePreference(`onboarding-folded.${id}`, false)
  const left = steps.filter(({ isDone }) => !isDone)
  // A step that gets done stays open: its result is what the user wants to see.
  const [current, setCurrent] = useState(left[0]?.name)
  return (
    <Card
      flush
      title="Get started"
      description={`${steps.length - left.length} of ${steps.length} done`}
      actions={
        <Button size="sm" variant="quiet" aria-expanded={!isFolded} onClick={() => setIsFolded(!isFolded)}>
          {isFolded ? 'Show' : 'Hide'}
        </Button>
      }
    >
      {!isFolded && <PurposeQuestion />}
      {!isFolded && (
        <ol className="divide-y divide-line border-line border-t">
          {steps.map((step) => (
            <StepItem key={step.name} step={step} isOpen={step.name === current} onOpen={() => setCurrent(step.name)} />
          ))}
        </ol>
      )}
    </Card>
  )
}

/** The answer changes only the order of the steps. */
function PurposeQuestion() {
  const [purpose, setPurpose] = usePurpose()
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-2 px-4 py-2.5">
      <p id="purpose" className="text-muted text-ui">
        What will you send?
      </p>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be laid out in one line with its question */}
      <div role="group" aria-labelledby="purpose" className="flex gap-1">
        {(Object.keys(PURPOSES) as Purpose[]).map((each) => (
          <Button
            key={each}
            size="sm"
            aria-pressed={purpose === each}
            className="aria-pressed:border-accent aria-pressed:bg-accent-soft"
            onClick={() => setPurpose(each)}
          >
            {PURPOSES[each]}
          </Button>
        ))}
      </div>
    </div>
  )
}

const STEPS: Record<StepName, { title: string; content: () => ReactNode }> = {
  email: { title: 'Send yourself an email', content: () => <FirstEmail /> },
  api: { title: 'Call the API', content: () => <FirstCall /> },
  domain: {
    title: 'Add your domain',
    content: () => (
      <Elsewhere to="domains" label="Open domains" text="Email from your own name needs a few DNS records. About five minutes." />
    ),
  },
  people: {
    title: 'Bring people',
    content: () => (
      <Elsewhere to="contacts" label="Open contacts" text="Import a CSV, paste addresses, or let your app create people with one call." />
    ),
  },
}

function StepItem({ step: { name, isDone }, isOpen, onOpen }: { step: Step; isOpen: boolean; onOpen: () => void }) {
  const { title, content } = STEPS[name]
  return (
    <li>
      <h3>
        <button
          type="button"
          aria-expanded={isOpen}
          onClick={onOpen}
          className="flex min-h-10 w-full items-center gap-3 px-4 text-left font-medium text-ui hover:bg-sunken/70"
        >
          {isDone ? (
            <CircleCheck className="size-4 shrink-0 text-good" role="img" aria-label="Done" />
          ) : (
            <CircleDashed className="size-4 shrink-0 text-muted" role="img" aria-label="To do" />
          )}
          <span className={`flex-1 ${isDone ? 'text-muted' : ''}`}>{title}</span>
          <ChevronDown className={`size-4 shrink-0 text-muted ${isOpen ? 'rotate-180' : ''}`} aria-hidden="true" />
        </button>
      </h3>
      {isOpen && <div className="max-w-3xl px-4 pb-4 sm:pl-11">{content()}</div>}
    </li>
  )
}

function FirstCall() {
  const project = useProject()
  const me = useQuery(meQuery)
  const tracked = useQuery(trackedNamesQuery(project.id)).data
  const key = project.public ?? '$STERNA_PUBLIC_KEY'
  const body = { email: me.data?.email ?? 'ada@example.com', event: 'signup', data: { plan: 'pro' } }
  return (
    <div className="space-y-3">
      <p className="text-muted text-ui">
        Tracks an event and creates the contact.{' '}
        {project.public ? 'The public key is filled in.' : 'Ask an owner or admin for the public key.'}
      </p>
      <CodeBlock title="Terminal" label="Example call" code={curl('POST', '/v1/track', { key, body })} />
      <p className="text-ui" role="status">
        {tracked?.length ? (
          <span className="text-good">The first call has arrived.</span>
        ) : (
          <span className="text-muted">Waiting for your first call…</span>
        )}
      </p>
    </div>
  )
}

function Elsewhere({ to, label, text }: { to: 'domains' | 'contacts'; label: string; text: string }) {
  const { id: projectId } = useProject()
  return (
    <div className="space-y-3">
      <p className="text-muted text-ui">{text}</p>
      <Link to={`/app/p/$projectId/${to}`} params={{ projectId }} className={buttonClass('secondary', 'sm')}>
        {label}
      </Link>
    </div>
  )
}
