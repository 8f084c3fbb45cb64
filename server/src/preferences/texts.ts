/** All texts for recipients, in the languages a project can have. `{sender}` and `{address}` are placeholders. */
const en = {
  unsubscribe: 'Unsubscribe',
  unsubscribeAsk: 'Unsubscribe?',
  unsubscribeText: '{address} will no longer receive news from {sender}.',
  unsubscribed: 'You are unsubscribed',
  unsubscribedText: '{address} no longer receives news from {sender}.',
  /** Before the link that undoes it. */
  mistake: 'By mistake?',
  subscribe: 'Subscribe',
  subscribeAsk: 'Subscribe?',
  subscribeText: '{address} will receive news from {sender}.',
  subscribed: 'You are subscribed',
  subscribedText: '{address} receives news from {sender}.',
  manage: 'Email preferences',
  manageText: 'Choose what {sender} may send to {address}.',
  wanted: 'Send me news',
  unwanted: 'Do not send me news',
  save: 'Save',
  saved: 'Your choice has been saved.',
  /** Transactional emails are sent without a subscription. */
  stillSent: 'You will still receive emails about your account and your orders.',
  notFound: 'This link does not work',
  notFoundText: 'It may be incomplete or out of date. Please use the link in the latest email you received.',
  failed: 'Something went wrong',
  failedText: 'Nothing was changed. Please try again in a few minutes.',
  /** At the end of an email, before the link. */
  footer: 'You are receiving this email because you subscribed to news from {sender}.',
}

type Texts = Record<keyof typeof en, string>

const de: Texts = {
  unsubscribe: 'Abmelden',
  unsubscribeAsk: 'Möchten Sie sich abmelden?',
  unsubscribeText: '{address} erhält dann keine Neuigkeiten mehr von {sender}.',
  unsubscribed: 'Sie sind abgemeldet',
  unsubscribedText: '{address} erhält keine Neuigkeiten mehr von {sender}.',
  mistake: 'War das ein Versehen?',
  subscribe: 'Abonnieren',
  subscribeAsk: 'Möchten Sie Neuigkeiten abonnieren?',
  subscribeText: '{address} erhält dann Neuigkeiten von {sender}.',
  subscribed: 'Sie sind angemeldet',
  subscribedText: '{address} erhält Neuigkeiten von {sender}.',
  manage: 'E-Mail-Einstellungen',
  manageText: 'Wählen Sie, was {sender} an {address} senden darf.',
  wanted: 'Ich möchte Neuigkeiten erhalten',
  unwanted: 'Ich möchte keine Neuigkeiten erhalten',
  save: 'Speichern',
  saved: 'Ihre Auswahl wurde gespeichert.',
  stillSent: 'Nachrichten zu Ihrem Konto oder Ihren Bestellungen werden weiterhin gesendet.',
  notFound: 'Dieser Link funktioniert nicht',
  notFoundText:
    'Er ist vielleicht unvollständig oder veraltet. Bitte verwenden Sie den Link in der neuesten E-Mail, die Sie erhalten haben.',
  failed: 'Das hat nicht geklappt',
  failedText: 'Es wurde nichts geändert. Bitte versuchen Sie es in einigen Minuten noch einmal.',
  footer: 'Sie erhalten diese E-Mail, weil Sie Neuigkeiten von {sender} abonniert haben.',
}

const fr: Texts = {
  unsubscribe: 'Se désabonner',
  unsubscribeAsk: 'Voulez-vous vous désabonner ?',
  unsubscribeText: '{address} ne recevra plus d’actualités de {sender}.',
  unsubscribed: 'Vous êtes désabonné(e)',
  unsubscribedText: '{address} ne reçoit plus d’actualités de {sender}.',
  mistake: 'C’était une erreur ?',
  subscribe: 'S’abonner',
  subscribeAsk: 'Voulez-vous vous abonner ?',
  subscribeText: '{address} recevra les actualités de {sender}.',
  subscribed: 'Vous êtes abonné(e)',
  subscribedText: '{address} reçoit les actualités de {sender}.',
  manage: 'Préférences e-mail',
  manageText: 'Choisissez ce que {sender} peut envoyer à {address}.',
  wanted: 'Je souhaite recevoir les actualités',
  unwanted: 'Je ne souhaite pas recevoir d’actualités',
  save: 'Enregistrer',
  saved: 'Votre choix a été enregistré.',
  stillSent: 'Les messages concernant votre compte ou vos commandes vous seront toujours envoyés.',
  notFound: 'Ce lien ne fonctionne pas',
  notFoundText: 'Il est peut-être incomplet ou périmé. Veuillez utiliser le lien du dernier e-mail que vous avez reçu.',
  failed: 'Cela n’a pas fonctionné',
  failedText: 'Rien n’a été modifié. Veuillez réessayer dans quelques minutes.',
  footer: 'Vous recevez cet e-mail car vous êtes abonné(e) aux actualités de {sender}.',
}

const es: Texts = {
  unsubscribe: 'Darse de baja',
  unsubscribeAsk: '¿Quiere darse de baja?',
  unsubscribeText: '{address} dejará de recibir novedades de {sender}.',
  unsubscribed: 'Se ha dado de baja',
  unsubscribedText: '{address} ya no recibe novedades de {sender}.',
  mistake: '¿Fue un error?',
  subscribe: 'Suscribirse',
  subscribeAsk: '¿Quiere suscribirse?',
  subscribeText: '{address} recibirá novedades de {sender}.',
  subscribed: 'Su suscripción está activa',
  subscribedText: '{address} recibe novedades de {sender}.',
  manage: 'Preferencias de correo',
  manageText: 'Elija qué puede enviar {sender} a {address}.',
  wanted: 'Quiero recibir novedades',
  unwanted: 'No quiero recibir novedades',
  save: 'Guardar',
  saved: 'Su elección se ha guardado.',
  stillSent: 'Los mensajes sobre su cuenta o sus pedidos se seguirán enviando.',
  notFound: 'Este enlace no funciona',
  notFoundText: 'Puede que esté incompleto o desactualizado. Utilice el enlace del último correo que haya recibido.',
  failed: 'No ha funcionado',
  failedText: 'No se ha cambiado nada. Inténtelo de nuevo en unos minutos.',
  footer: 'Recibe este correo porque se suscribió a las novedades de {sender}.',
}

const it: Texts = {
  unsubscribe: 'Annulla l’iscrizione',
  unsubscribeAsk: 'Vuole annullare l’iscrizione?',
  unsubscribeText: '{address} non riceverà più novità da {sender}.',
  unsubscribed: 'Iscrizione annullata',
  unsubscribedText: '{address} non riceve più novità da {sender}.',
  mistake: 'È stato un errore?',
  subscribe: 'Iscriviti',
  subscribeAsk: 'Vuole iscriversi?',
  subscribeText: '{address} riceverà le novità di {sender}.',
  subscribed: 'Iscrizione attiva',
  subscribedText: '{address} riceve le novità di {sender}.',
  manage: 'Preferenze e-mail',
  manageText: 'Scelga che cosa {sender} può inviare a {address}.',
  wanted: 'Desidero ricevere le novità',
  unwanted: 'Non desidero ricevere novità',
  save: 'Salva',
  saved: 'La Sua scelta è stata salvata.',
  stillSent: 'I messaggi relativi al Suo account o ai Suoi ordini verranno inviati comunque.',
  notFound: 'Questo link non funziona',
  notFoundText: 'Potrebbe essere incompleto o non più valido. Utilizzi il link nell’ultima e-mail che ha ricevuto.',
  failed: 'Non ha funzionato',
  failedText: 'Non è stato modificato nulla. Riprovi tra qualche minuto.',
  footer: 'Riceve questa e-mail perché ha scelto di ricevere le novità di {sender}.',
}

const nl: Texts = {
  unsubscribe: 'Afmelden',
  unsubscribeAsk: 'Wilt u zich afmelden?',
  unsubscribeText: '{address} ontvangt dan geen nieuws meer van {sender}.',
  unsubscribed: 'U bent afgemeld',
  unsubscribedText: '{address} ontvangt geen nieuws meer van {sender}.',
  mistake: 'Per ongeluk?',
  subscribe: 'Aanmelden',
  subscribeAsk: 'Wilt u zich aanmelden?',
  subscribeText: '{address} ontvangt dan nieuws van {sender}.',
  subscribed: 'U bent aangemeld',
  subscribedText: '{address} ontvangt nieuws van {sender}.',
  manage: 'E-mailvoorkeuren',
  manageText: 'Kies wat {sender} naar {address} mag sturen.',
  wanted: 'Ik wil nieuws ontvangen',
  unwanted: 'Ik wil geen nieuws ontvangen',
  save: 'Opslaan',
  saved: 'Uw keuze is opgeslagen.',
  stillSent: 'Berichten over uw account of uw bestellingen blijft u wel ontvangen.',
  notFound: 'Deze link werkt niet',
  notFoundText: 'Misschien is de link onvolledig of verouderd. Gebruik de link in de laatste e-mail die u hebt ontvangen.',
  failed: 'Dat is niet gelukt',
  failedText: 'Er is niets gewijzigd. Probeer het over een paar minuten opnieuw.',
  footer: 'U ontvangt deze e-mail omdat u zich hebt aangemeld voor nieuws van {sender}.',
}

const pt: Texts = {
  unsubscribe: 'Cancelar subscrição',
  unsubscribeAsk: 'Deseja cancelar a subscrição?',
  unsubscribeText: '{address} deixará de receber novidades de {sender}.',
  unsubscribed: 'Subscrição cancelada',
  unsubscribedText: '{address} já não recebe novidades de {sender}.',
  mistake: 'Foi um engano?',
  subscribe: 'Subscrever',
  subscribeAsk: 'Deseja subscrever?',
  subscribeText: '{address} passará a receber novidades de {sender}.',
  subscribed: 'Subscrição ativa',
  subscribedText: '{address} recebe novidades de {sender}.',
  manage: 'Preferências de e-mail',
  manageText: 'Escolha o que {sender} pode enviar para {address}.',
  wanted: 'Quero receber novidades',
  unwanted: 'Não quero receber novidades',
  save: 'Guardar',
  saved: 'A sua escolha foi guardada.',
  stillSent: 'As mensagens sobre a sua conta ou as suas encomendas continuarão a ser enviadas.',
  notFound: 'Este link não funciona',
  notFoundText: 'Pode estar incompleto ou desatualizado. Utilize o link do e-mail mais recente que recebeu.',
  failed: 'Não funcionou',
  failedText: 'Nada foi alterado. Tente novamente dentro de alguns minutos.',
  footer: 'Recebe este e-mail porque subscreveu as novidades de {sender}.',
}

const pl: Texts = {
  unsubscribe: 'Wypisz się',
  unsubscribeAsk: 'Czy chcesz się wypisać?',
  unsubscribeText: 'Na adres {address} nie będziemy już wysyłać wiadomości o nowościach od {sender}.',
  unsubscribed: 'Subskrypcja anulowana',
  unsubscribedText: 'Na adres {address} nie są już wysyłane wiadomości o nowościach od {sender}.',
  mistake: 'To pomyłka?',
  subscribe: 'Zapisz się',
  subscribeAsk: 'Czy chcesz się zapisać?',
  subscribeText: 'Na adres {address} będziemy wysyłać wiadomości o nowościach od {sender}.',
  subscribed: 'Subskrypcja jest aktywna',
  subscribedText: 'Na adres {address} są wysyłane wiadomości o nowościach od {sender}.',
  manage: 'Ustawienia wiadomości e-mail',
  manageText: 'Wybierz, co {sender} może wysyłać na adres {address}.',
  wanted: 'Chcę otrzymywać wiadomości o nowościach',
  unwanted: 'Nie chcę otrzymywać wiadomości o nowościach',
  save: 'Zapisz',
  saved: 'Twój wybór został zapisany.',
  stillSent: 'Wiadomości dotyczące konta lub zamówień będą wysyłane niezależnie od tego wyboru.',
  notFound: 'Ten link nie działa',
  notFoundText: 'Może być niepełny lub nieaktualny. Użyj linku z ostatniej otrzymanej wiadomości.',
  failed: 'Nie udało się',
  failedText: 'Nic nie zostało zmienione. Spróbuj ponownie za kilka minut.',
  footer: 'Otrzymujesz tę wiadomość, ponieważ subskrybujesz nowości od {sender}.',
}

const ja: Texts = {
  unsubscribe: '配信を停止する',
  unsubscribeAsk: '配信を停止しますか？',
  unsubscribeText: '{sender} から {address} へのお知らせメールの配信を停止します。',
  unsubscribed: '配信を停止しました',
  unsubscribedText: '{sender} から {address} へお知らせメールは配信されません。',
  mistake: 'お間違えでしたか？',
  subscribe: '購読する',
  subscribeAsk: '購読しますか？',
  subscribeText: '{sender} から {address} へお知らせメールをお送りします。',
  subscribed: '購読中です',
  subscribedText: '{sender} から {address} へお知らせメールをお送りしています。',
  manage: 'メール配信設定',
  manageText: '{sender} から {address} への配信内容をお選びください。',
  wanted: 'お知らせメールを受け取る',
  unwanted: 'お知らせメールを受け取らない',
  save: '保存する',
  saved: '設定を保存しました。',
  stillSent: 'アカウントやご注文に関するメールは引き続き配信されます。',
  notFound: 'このリンクは無効です',
  notFoundText: 'リンクが途中で切れているか、古い可能性があります。最新のメールに記載されたリンクをご利用ください。',
  failed: '処理できませんでした',
  failedText: '変更は行われていません。数分後にもう一度お試しください。',
  footer: 'このメールは、{sender} のお知らせを購読されている方にお送りしています。',
}

const zh: Texts = {
  unsubscribe: '退订',
  unsubscribeAsk: '确定要退订吗？',
  unsubscribeText: '{address} 将不再收到 {sender} 的资讯邮件。',
  unsubscribed: '您已退订',
  unsubscribedText: '{address} 不会再收到 {sender} 的资讯邮件。',
  mistake: '操作有误？',
  subscribe: '订阅',
  subscribeAsk: '确定要订阅吗？',
  subscribeText: '{address} 将收到 {sender} 的资讯邮件。',
  subscribed: '您已订阅',
  subscribedText: '{address} 会收到 {sender} 的资讯邮件。',
  manage: '邮件偏好设置',
  manageText: '请选择 {sender} 可以向 {address} 发送的内容。',
  wanted: '接收资讯邮件',
  unwanted: '不接收资讯邮件',
  save: '保存',
  saved: '您的选择已保存。',
  stillSent: '与您的账户或订单有关的邮件仍会照常发送。',
  notFound: '此链接无效',
  notFoundText: '链接可能不完整或已过期。请使用您最近收到的邮件中的链接。',
  failed: '操作未成功',
  failedText: '未作任何更改。请几分钟后重试。',
  footer: '您收到此邮件，是因为您订阅了 {sender} 的资讯。',
}

const TEXTS = { en, de, fr, es, it, nl, pt, pl, ja, zh } satisfies Record<string, Texts>
export type Language = keyof typeof TEXTS

export const textsIn = (language: Language) => TEXTS[language]

const isLanguage = (text: string): text is Language => Object.hasOwn(TEXTS, text)

/** The locale of the contact first (`de-AT` and `de_AT` are German), then the language of the project. */
export function languageFor(locale: unknown, projectLanguage: string): Language {
  const wanted = typeof locale === 'string' ? locale.trim().split(/[-_]/)[0]!.toLowerCase() : ''
  if (isLanguage(wanted)) return wanted
  return isLanguage(projectLanguage) ? projectLanguage : 'en'
}

/** The first known language of an Accept-Language header. */
export const languageOfBrowser = (accepted: string | undefined): Language =>
  (accepted ?? '')
    .slice(0, 500)
    .split(',')
    .map((entry) => entry.trim().split(/[-_;]/)[0]!.toLowerCase())
    .find(isLanguage) ?? 'en'
