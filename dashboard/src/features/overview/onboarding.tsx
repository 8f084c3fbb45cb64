import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ChevronDown, CircleCheck, CircleDashed } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { meQuery } from '../../data/account.ts'
import { domainsQuery } from '../../data/domains.ts'
import { configQuery } from '../../data/installation.ts'
import { setupStateQuery } from '../../data/projects.ts'
import { useProject } from '../../projects/current.ts'
import { usePreference } from '../../session/preferences.ts'
import { Button, buttonClass } from '../../ui/form/button.tsx'
import { Card } from '../../ui/page/card.tsx'
import { ViewTabs } from '../../ui/page/view-tabs.tsx'
import { CodeBlock } from '../../ui/text/copy-field.tsx'
import { FirstEmail } from './first-email.tsx'
import { LANGUAGES, type Language, SNIPPETS } from './snippets.ts'
import { PURPOSES, type Purpose, type SetupStep, type StepName, stepsOf } from './steps.ts'

const WAITING_MS = 2_000

/** Undefined until all facts are known. */
export function useSteps(): SetupStep[] | undefined {
  const { id } = useProject()
  const config = useQuery(configQuery).data
  const [purpose] = usePurpose()
  const domains = useQuery(domainsQuery(id)).data
  // Waits for what happens elsewhere: in the worker, and in the user's app.
  const state = useQuery({
    ...setupStateQuery(id),
    refetchInterval: ({ state: { data } }) => (data?.hasSentEmail && data.hasTrackedEvent ? false : WAITING_MS),
  }).data
  if (!state || !domains || !config) return undefined
  return stepsOf({ ...state, domains, isSandbox: config.features.email.sandbox, purpose })
}

const usePurpose = () => usePreference<Purpose | undefined>(`onboarding-purpose.${useProject().id}`, undefined)

/** The steps to the first real email. Gone when all are done. */
export function Onboarding({ steps }: { steps: SetupStep[] }) {
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
      <Elsewhere links={{ domains: 'Open domains' }} text="Email from your own name needs a few DNS records. About five minutes." />
    ),
  },
  people: {
    title: 'Bring people',
    content: () => (
      <Elsewhere links={{ contacts: 'Open contacts' }} text="Import a CSV, paste addresses, or let your app create people with one call." />
    ),
  },
  real: {
    title: 'Send for real',
    content: () => (
      <Elsewhere
        links={{ campaigns: 'Open campaigns', workflows: 'Open workflows' }}
        text="Send your first campaign to many people at once, or turn on a workflow that writes to each person at the right time."
      />
    ),
  },
}

function StepItem({ step: { name, isDone }, isOpen, onOpen }: { step: SetupStep; isOpen: boolean; onOpen: () => void }) {
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
  const hasArrived = useQuery(setupStateQuery(project.id)).data?.hasTrackedEvent
  const [language, setLanguage] = usePreference<Language>('snippet-language', 'curl')
  const key = project.public ?? '$STERNA_PUBLIC_KEY'
  const body = { email: me.data?.email ?? 'ada@example.com', event: 'signup', data: { plan: 'pro' } }
  return (
    <div className="space-y-3">
      <p className="text-muted text-ui">
        Tracks an event and creates the contact.{' '}
        {project.public ? 'The public key is filled in.' : 'Ask an owner or admin for the public key.'}
      </p>
      <ViewTabs label="Language" tabs={LANGUAGES} chosen={language} onChoose={setLanguage}>
        <CodeBlock
          title={language === 'curl' ? 'Terminal' : LANGUAGES[language]}
          label="Example call"
          code={SNIPPETS[language]({ origin: window.location.origin, key, body })}
        />
      </ViewTabs>
      <p className="text-ui" role="status">
        {hasArrived ? (
          <span className="text-good">The first call has arrived.</span>
        ) : (
          <span className="text-muted">Waiting for your first call…</span>
        )}
      </p>
    </div>
  )
}

type Page = 'domains' | 'contacts' | 'campaigns' | 'workflows'

function Elsewhere({ links, text }: { links: Partial<Record<Page, string>>; text: string }) {
  const { id: projectId } = useProject()
  return (
    <div className="space-y-3">
      <p className="text-muted text-ui">{text}</p>
      <p className="flex flex-wrap gap-2">
        {(Object.keys(links) as Page[]).map((page) => (
          <Link key={page} to={`/app/p/$projectId/${page}`} params={{ projectId }} className={buttonClass('secondary', 'sm')}>
            {links[page]}
          </Link>
        ))}
      </p>
    </div>
  )
}
