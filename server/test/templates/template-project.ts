import type { useApp } from '../support/app.ts'

type Sterna = ReturnType<typeof useApp>
export type Template = { id: string; name: string; subject: string; body: string; type: string; createdAt: string; updatedAt: string }

export const WELCOME = {
  name: 'Welcome',
  subject: 'Hi {{ first name ?? "you" }}',
  body: '<p>Hi {{ first name }}</p>',
  type: 'TRANSACTIONAL',
}

/** A project with requests about its templates. */
export async function newTemplateProject(sterna: Sterna) {
  const project = await sterna.newProject(await sterna.sharedOwner())
  const { call } = project
  return {
    ...project,
    add: async (more: object = {}): Promise<Template> => (await call('POST', '/templates', { ...WELCOME, ...more })).body,
    names: async (query = ''): Promise<string[]> => (await call('GET', `/templates${query}`)).body.data.map(({ name }: Template) => name),
    lint: async (content: object): Promise<[string, string, number?][]> =>
      (await call('POST', '/templates/lint', { subject: 'x', ...content })).body.issues.map(
        ({ code, severity, line }: { code: string; severity: string; line?: number }) => [code, severity, ...(line ? [line] : [])],
      ),
  }
}
