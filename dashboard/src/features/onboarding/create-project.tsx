import type { Body } from '@sterna/sdk'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../../client/api.ts'
import { invalidateProjects, projectsQuery } from '../../data/projects.ts'
import { UserMenu } from '../../session/user-menu.tsx'
import { Button } from '../../ui/form/button.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Form } from '../../ui/form/form.tsx'
import { Input } from '../../ui/form/input.tsx'
import { Logo, Tern } from '../../ui/page/logo.tsx'
import { PageTitle } from '../../ui/page/page.tsx'
import { Splash } from '../../ui/page/splash.tsx'

/** The first page of a new user; further projects are created here too. */
export function CreateProjectPage() {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const projects = useQuery(projectsQuery)
  // Kept while the project is created: it must not change the heading before its page opens.
  const [wasFirst, setWasFirst] = useState<boolean>()
  const create = useMutation({
    mutationFn: (body: Body<'POST /users/@me/projects'>) => api.projects.create(body),
    onSuccess: async ({ id: projectId, disabled }) => {
      await invalidateProjects(queries)
      // It starts disabled while another project of the person is suspended: that page says why and until when.
      await navigate({ to: disabled ? '/app/p/$projectId/settings/security' : '/app/p/$projectId', params: { projectId } })
    },
  })

  if (projects.isPending) return <Splash />

  const isFirst = wasFirst ?? projects.data?.length === 0
  return (
    <div className="flex min-h-dvh flex-col">
      <header className="flex items-center justify-between px-5 py-4 sm:px-8">
        <Link to="/app" aria-label="Sterna, home" className="rounded-lg">
          <Logo />
        </Link>
        <UserMenu />
      </header>
      <main className="mx-auto flex w-full max-w-md flex-1 flex-col justify-center px-5 pb-24">
        <Tern className="mb-4 size-10 text-accent" />
        <PageTitle>{isFirst ? 'Name your first project' : 'New project'}</PageTitle>
        <p className="mt-1 text-muted text-ui">A project has its own contacts, emails and keys, separate from your other projects.</p>
        <div className="mt-6">
          <Form
            error={create.error}
            onSubmit={(value) => {
              setWasFirst(isFirst)
              create.mutate({ name: value('name') })
            }}
          >
            <Field name="name" label="Project name" hint="You can change it later.">
              <Input autoComplete="off" placeholder="Acme" maxLength={100} required />
            </Field>
            <Button type="submit" variant="primary" busy={create.isPending} className="w-full">
              Create project
            </Button>
          </Form>
        </div>
      </main>
    </div>
  )
}
